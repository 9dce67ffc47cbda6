// A complete agent for wa2ai's profile `chat`, without a model: it remembers names and counts messages. Replace `answerTo`
// by a call of your model.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {{ dataDir: string, token?: string }} options dataDir: where `session.json` is; token: what callers must send
 * @returns {import('node:http').RequestListener}
 */
export function createAgent({ dataDir, token }) {
  mkdirSync(join(dataDir, 'workspace'), { recursive: true });
  const file = join(dataDir, 'session.json');
  const session = load(file);

  return async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://agent');
    const send = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    // Everybody on this machine can connect to the port; only wa2ai has the token.
    if (token !== undefined && request.headers['x-api-key'] !== token)
      return send(401, { error: 'wrong token' });
    if (request.method === 'GET' && pathname === '/health') return send(200, { status: 'ok' });
    if (request.method === 'GET' && pathname === '/history') {
      const count = Number(searchParams.get('count') ?? 20);
      return send(200, { messages: session.messages.slice(-count) });
    }
    if (request.method !== 'POST' || pathname !== '/chat') return send(404, { error: 'unknown path' });

    const { message, message_id: id } = JSON.parse(await bodyOf(request));
    // wa2ai repeats a message whose answer it did not get: it must not be answered twice.
    const known = session.messages.find((each) => each.role === 'assistant' && each.id === id);
    if (known) return send(200, { response: known.content });
    const answer = answerTo(message, session);
    session.messages.push({ role: 'user', content: message, id }, { role: 'assistant', content: answer, id });
    save(file, session);
    return send(200, { response: answer });
  };
}

/** What the agent says. A model would be called here. */
function answerTo(message, session) {
  const named = /my name is (\p{L}+)/iu.exec(message);
  if (named) {
    session.name = named[1];
    return `Nice to meet you, ${session.name}.`;
  }
  if (/who am i/i.test(message)) return session.name ? `You are ${session.name}.` : 'I do not know yet.';
  const count = session.messages.filter(({ role }) => role === 'user').length + 1;
  return `This is message ${count}: ${message}`;
}

function load(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { messages: [] };
  }
}

/** The file is whole at any time, also when the agent is ended while it writes. */
function save(file, session) {
  writeFileSync(`${file}.new`, JSON.stringify(session));
  renameSync(`${file}.new`, file);
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
