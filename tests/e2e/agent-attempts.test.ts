import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
const servers: Server[] = [];

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

/** An agent without sessions that never answers its first run and answers every other. */
async function forgetfulAgent() {
  let runs = 0;
  const server = createServer((request, response) => {
    if (request.url !== '/run') {
      response.writeHead(404).end();
      return;
    }
    runs += 1;
    server.emit('run');
    if (runs === 1) return;
    const content = { role: 'model', parts: [{ text: 'second run' }] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify([{ author: 'model', content }]));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, firstRun: once(server, 'run'), runs: () => runs };
}

/** A person whose message was sent to a forgetful agent when the service was killed and started again. */
async function killedInRun(failure: object) {
  const agent = await forgetfulAgent();
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config: { failure } });
  const id = await person.say('are you there?', { to: bed.phone });
  await agent.firstRun;
  await bed.service.end('SIGKILL');
  await bed.restartService();
  return { agent, person, row: await bed.untilTurnEnded(id) };
}

describe('a run that a crash of wa2ai interrupted, at an agent without sessions', () => {
  it('is sent again by default, and attempts counts both requests', async () => {
    const { agent, person, row } = await killedInRun({});
    expect((await person.nextReply(20_000)).text).toBe('second run');
    expect(agent.runs()).toBe(2);
    expect(row).toMatchObject({ state: 'answered', attempts: 2 });
    const [last] = (row.trace as Array<{ attempts: object[] }>).slice(-1);
    expect(last?.attempts).toMatchObject([{ attempt: 2 }]);
  });

  it('is a dead letter when the route says so, and attempts counts the one request', async () => {
    const { agent, row } = await killedInRun({ uncertain: 'dead-letter' });
    expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_UNCERTAIN', attempts: 1, replies: [] });
    expect(agent.runs()).toBe(1);
  });
});
