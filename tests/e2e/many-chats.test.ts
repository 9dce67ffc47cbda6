import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

const CHATS = 40;

const bed = TestBed.shared();
let agent: Server;

beforeAll(async () => {
  agent = await agentThatWaitsForAll();
});

afterAll(async () => {
  agent.closeAllConnections();
  agent.close();
});

/** An agent that answers the text "first" only when every chat has sent it: chats in sequence would never be answered. */
async function agentThatWaitsForAll(): Promise<Server> {
  const sessions = new Set<string>();
  const waiting: Array<() => void> = [];
  const server = createServer(async (request, response) => {
    if (request.url !== '/run') {
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { session_id, new_message } = JSON.parse(Buffer.concat(chunks).toString());
    const [{ text }] = new_message.parts;
    const answer = () => {
      const content = { role: 'model', parts: [{ text: `Echo: ${text}` }] };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify([{ author: 'model', content }]));
    };
    if (text !== 'first') {
      answer();
      return;
    }
    sessions.add(session_id);
    waiting.push(answer);
    if (sessions.size === CHATS) for (const release of waiting.splice(0)) release();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('wa2ai with many chats at once', () => {
  it(`answers ${CHATS} chats concurrently and in order within each`, async () => {
    const { port } = agent.address() as AddressInfo;
    const people = Array.from({ length: CHATS }, () => bed.person());
    // The first answer waits for the last chat's message, which takes long on a busy machine.
    const config = { adk: { appName: 'test_agent', timeoutMs: 120_000 } };
    await bed.service.addRoute('*', `http://127.0.0.1:${port}`, { priority: 1, config });
    for (const text of ['first', 'second']) {
      await Promise.all(people.map((person) => person.say(text, { to: bed.phone })));
    }
    const answers = await Promise.all(people.map((person) => person.waitForReceived(2, 85_000)));
    for (const bubbles of answers) {
      expect(bubbles.map((bubble) => bubble.text)).toEqual(['Echo: first', 'Echo: second']);
    }
  });
});
