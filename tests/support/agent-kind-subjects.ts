import { join } from 'node:path';
import { decodeAbiParameters, encodeAbiParameters } from 'viem';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { startOpenAiServer } from '../doubles/openai-server.ts';
import { startShellRuntime } from '../doubles/shell-runtime.ts';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { startWebhookServer } from '../doubles/webhook-server.ts';

import { repositoryRoot } from './repository.ts';

/** The secret that each route has, as a header or a key. */
export const SECRET = 'a-secret-of-the-route';

/** An agent kind under the contract: a server that answers `hello` with a text that contains `hello`, and a route to it. */
export interface AgentKindSubject {
  name: string;
  /** Without a time limit. One of the values is SECRET. */
  settings: Record<string, unknown>;
  start(): Promise<StandInServer>;
  /** Options of `wa2ai agent inspect` that a route body needs. */
  options?: Record<string, string>;
}

const headers = { 'X-Key': SECRET };

/** Every agent kind. A new one is one line here. */
export const AGENT_KIND_SUBJECTS: AgentKindSubject[] = [
  { name: 'adk', settings: { appName: 'greeter', headers }, start: startAdkServer },
  { name: 'npc', settings: { apiKey: SECRET }, start: () => behindStandIn(NpcDouble.start()) },
  { name: 'a2a', settings: { apiKey: SECRET }, start: () => behindStandIn(A2aDouble.start()) },
  { name: 'openai', settings: { model: 'gpt-test', apiKey: SECRET }, start: () => startOpenAiServer() },
  {
    name: 'abi',
    settings: {
      functions: ['function hello(string text) returns (string answer)'],
      args: ['{{text}}'],
      headers,
    },
    start: startAbiServer,
    options: { abi: join(repositoryRoot, 'examples/agents/abi/functions.txt') },
  },
  { name: 'hosted', settings: { image: 'agent:1', env: { KEY: SECRET } }, start: startHostedServer },
  {
    name: 'shell',
    settings: { allow: ['5493777239922'], token: SECRET },
    start: () => startShellRuntime(SECRET),
    options: { token: SECRET },
  },
  { name: 'webhook', settings: { secret: SECRET }, start: () => startWebhookServer() },
];

function startHostedServer(): Promise<StandInServer> {
  return StandInServer.start(({ method, path, body }) => {
    if (method !== 'POST' || path !== '/chat') return { status: 404, body: { error: 'unknown path' } };
    return { body: { response: `Echo: ${JSON.parse(body).message}` } };
  });
}

function startAdkServer(): Promise<StandInServer> {
  return StandInServer.start(({ method, path, body }) => {
    if (path === '/list-apps') return { body: ['greeter'] };
    if (path === '/version') return { body: { version: '2.0.0' } };
    if (method !== 'POST' || path !== '/run') return { status: 404, body: { detail: 'Not Found' } };
    const run = JSON.parse(body);
    const [{ text }] = (run.newMessage ?? run.new_message).parts;
    const content = { role: 'model', parts: [{ text: `Echo: ${text}` }] };
    return { body: [{ author: 'greeter', content }] };
  });
}

function startAbiServer(): Promise<StandInServer> {
  const string = [{ type: 'string' }] as const;
  return StandInServer.start(({ method, path, bytes }) => {
    if (path === '/health') return { body: { status: 'healthy', version: '1.0.0', methods: ['hello'] } };
    if (method !== 'POST') return { status: 404, body: 'Not found' };
    if (bytes.length < 5) return { status: 400, body: 'Unknown function selector' };
    const [text] = decodeAbiParameters(string, `0x${bytes.subarray(4).toString('hex')}`);
    return { body: Buffer.from(encodeAbiParameters(string, [`Echo: ${text}`]).slice(2), 'hex') };
  });
}

/** A double, behind a server that can misbehave. */
async function behindStandIn(
  starting: Promise<{ url: string; stop(): Promise<void> }>,
): Promise<StandInServer> {
  const agent = await starting;
  const server = await StandInServer.start(async ({ method, path, headers, body }) => {
    const answer = await fetch(agent.url + path, {
      method,
      ...(method === 'POST' && { body }),
      headers: Object.entries(headers).flatMap(
        ([name, value]): Array<[string, string]> =>
          typeof value === 'string' && !/^(?:host|connection|content-length)$/.test(name)
            ? [[name, value]]
            : [],
      ),
    });
    const type = answer.headers.get('content-type') ?? '';
    const text = (await answer.text()).replaceAll(agent.url, server.url);
    return { status: answer.status, headers: { 'content-type': type }, body: text };
  });
  server.onClose(() => agent.stop());
  return server;
}
