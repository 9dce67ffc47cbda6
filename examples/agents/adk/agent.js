#!/usr/bin/env node
// A small agent that speaks the HTTP protocol of Google ADK servers, without dependencies. Change `answer` and try it.
// wa2ai can run it: PORT, HOST, DATA_DIR and AGENT_TOKEN_FILE then come from wa2ai.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { openSessions } from './session-store.js';

const { PORT = '8000', HOST = '127.0.0.1', DATA_DIR, AGENT_TOKEN_FILE } = process.env;

const HELP = `A small ADK agent.

  node agent.js [--port 8000] [--host 127.0.0.1] [--name my_agent]

  --port PORT  where it listens; 0 takes a free port
  --host HOST  address it listens on
  --name NAME  its name: the appName of the route
  --help       this text

With DATA_DIR it keeps its sessions there; with AGENT_TOKEN_FILE it refuses requests without the token in that file. It writes a line for each request. Stop it with Ctrl+C.`;

const MAX_BODY_BYTES = 20 * 1024 * 1024;

/**
 * What the agent says. `state` is the session state that wa2ai sets: wa2ai_name, wa2ai_chat, wa2ai_quoted ...
 * `turn` counts the messages of the session from 1.
 */
function answer(text, state, turn) {
  const name = state.wa2ai_name ? `, ${state.wa2ai_name}` : '';
  if (turn === 1) return `Hello${name}! You said: ${text}`;
  const quoted = state.wa2ai_quoted ? ` (about "${state.wa2ai_quoted}")` : '';
  return `Message ${turn}${name}${quoted}: ${text}`;
}

const sessions = openSessions(DATA_DIR);
const token = AGENT_TOKEN_FILE && readFileSync(AGENT_TOKEN_FILE, 'utf8').trim();

const routes = [
  { method: 'GET', path: /^\/list-apps$/, handle: () => [200, [options.name]] },
  { method: 'POST', path: /^\/apps\/([^/]+)\/users\/([^/]+)\/sessions\/([^/]+)$/, handle: createSession },
  { method: 'GET', path: /^\/apps\/([^/]+)\/users\/([^/]+)\/sessions\/([^/]+)$/, handle: getSession },
  { method: 'POST', path: /^\/run$/, handle: run },
];

function createSession([app, user, id]) {
  if (app !== options.name) return noApp(app);
  const key = [app, user, id].join('/');
  if (sessions.has(key)) return [409, { error: `Session already exists: ${id}` }];
  sessions.save(key, { id, appName: app, userId: user, state: {}, events: [] });
  return [200, sessions.get(key)];
}

function getSession([app, user, id]) {
  const session = sessions.get([app, user, id].join('/'));
  return session ? [200, session] : [404, { error: `Session not found: ${id}` }];
}

/** One message: the events of its run are the answer, and stay in the session. */
function run(_params, body) {
  // ADK servers read both spellings of a field.
  const appName = body.appName ?? body.app_name;
  const userId = body.userId ?? body.user_id;
  const sessionId = body.sessionId ?? body.session_id;
  const newMessage = body.newMessage ?? body.new_message;
  const stateDelta = body.stateDelta ?? body.state_delta ?? {};
  if (appName !== options.name) return noApp(appName);
  const key = [appName, userId, sessionId].join('/');
  const session = sessions.get(key);
  if (!session) return [404, { error: `Session not found: ${sessionId}` }];
  const text = (newMessage?.parts ?? []).map((part) => part.text ?? '').join('');
  Object.assign(session.state, stateDelta);
  const invocationId = `e-${session.events.length}`;
  session.events.push(eventOf(invocationId, 'user', newMessage?.parts ?? [], stateDelta));
  const turn = session.events.filter(({ author }) => author === 'user').length;
  const reply = eventOf(invocationId, options.name, [{ text: answer(text, session.state, turn) }]);
  session.events.push(reply);
  sessions.save(key, session);
  return [200, [reply]];
}

function noApp(app) {
  return [404, { error: `there is no app "${app}"` }];
}

function eventOf(invocationId, author, parts, stateDelta = {}) {
  const role = author === 'user' ? 'user' : 'model';
  const actions = { stateDelta, artifactDelta: {}, requestedAuthConfigs: {} };
  const id = crypto.randomUUID();
  return { id, invocationId, author, content: { role, parts }, actions, timestamp: Date.now() };
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return size === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

async function handle(request) {
  if (token && request.headers['x-api-key'] !== token) return [401, { error: 'wrong token' }];
  const path = new URL(request.url, 'http://agent').pathname;
  const route = routes.find((known) => known.method === request.method && known.path.test(path));
  if (!route) return [404, { error: 'Not found' }];
  try {
    const params = route.path.exec(path).slice(1).map(decodeURIComponent);
    return route.handle(params, await bodyOf(request));
  } catch (error) {
    return [400, { error: error.message }];
  }
}

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: PORT },
    host: { type: 'string', default: HOST },
    name: { type: 'string', default: 'my_agent' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (options.help) {
  console.log(HELP);
} else {
  const server = createServer(async (request, response) => {
    const [status, body] = await handle(request);
    console.log(`${request.method} ${request.url} ${status}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.on('error', (error) => {
    console.error(`The agent cannot listen on ${options.host}:${options.port}: ${error.message}`);
    process.exitCode = 1;
  });
  server.listen(Number(options.port), options.host, () => {
    console.log(`${options.name} listens on http://${options.host}:${server.address().port}`);
  });
  // wa2ai stops an idle agent with SIGTERM, and ends it ten seconds later.
  process.once('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
}
