import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';

const bed = TestBed.shared();
const servers: Server[] = [];
const abiAgents: Array<Awaited<ReturnType<typeof startAbiMockAgent>>> = [];

afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  for (const agent of abiAgents) await agent.close();
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

/** A person whose message a forgetful agent has received. */
async function inRun(failure: object) {
  const agent = await forgetfulAgent();
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config: { failure } });
  const id = await person.say('are you there?', { to: bed.phone });
  await agent.firstRun;
  return { agent, person, ended: () => bed.untilTurnEnded(id) };
}

/** A call of an agent that refuses each, on an ABI route that forbids another attempt after one that may have run. */
async function refusedCall(tryForMs: number, retryAfter?: number) {
  const agent = await startAbiMockAgent();
  abiAgents.push(agent);
  agent.change({ fail: 503, retryAfter });
  const person = bed.person();
  const abi = { functions: ['function add(uint256 a, uint256 b) returns (uint256 sum)'] };
  const config = { abi, failure: { uncertain: 'dead-letter', tryForMs } };
  const body = { channelId: person.phone, agentEndpoint: agent.url, environment: 'lab', config };
  expect((await bed.service.api('POST', '/api/routes', body)).status).toBe(201);
  return { agent, person, id: await person.say('/add 2 40', { to: bed.phone }) };
}

/** What the one crash of this file interrupts. */
let repeated: Awaited<ReturnType<typeof inRun>>;
let given: Awaited<ReturnType<typeof inRun>>;
let refused: Awaited<ReturnType<typeof refusedCall>>;

beforeAll(async () => {
  repeated = await inRun({});
  given = await inRun({ uncertain: 'dead-letter' });
  refused = await refusedCall(3_600_000, 3_600);
  const postgres = bed.database.open();
  const pausing = sql`SELECT FROM message WHERE wa_message_id = ${refused.id} AND attempts = cleared_attempts
    AND attempts > 0`;
  await until('the pause between two attempts', async () => (await postgres.query(pausing))[0]);
  await bed.service.end('SIGKILL');
  refused.agent.change({ fail: undefined });
  await bed.restartService();
});

describe('a run that a crash of wa2ai interrupted, at an agent without sessions', () => {
  it('is sent again by default, and attempts counts both requests', async () => {
    const { agent, person, ended } = repeated;
    const row = await ended();
    expect((await person.nextReply()).text).toBe('second run');
    expect(agent.runs()).toBe(2);
    expect(row).toMatchObject({ state: 'answered', attempts: 2 });
    const [last] = (row.trace as Array<{ attempts: object[] }>).slice(-1);
    expect(last?.attempts).toMatchObject([{ attempt: 2 }]);
  });

  it('is a dead letter when the route says so, and attempts counts the one request, until it is replayed', async () => {
    const { agent, person, ended } = given;
    const row = await ended();
    expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_UNCERTAIN', attempts: 1, replies: [] });
    expect(agent.runs()).toBe(1);
    await bed.replay(row.id);
    expect((await person.nextReply()).text).toBe('second run');
    expect(agent.runs()).toBe(2);
    expect(await bed.untilTurnEnded(String(row.waMessageId))).toMatchObject({
      state: 'answered',
      attempts: 2,
    });
  });
});

describe('a refused call on an ABI route that forbids another attempt after one that may have run', () => {
  it('becomes a dead letter whose replay calls the function', async () => {
    const { agent, person, id } = await refusedCall(0);
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_UNAVAILABLE', attempts: 1 });
    agent.change({ fail: undefined });
    await bed.replay(row.id);
    expect((await person.nextReply()).text).toBe('42');
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'answered', attempts: 2 });
  });

  it('is repeated after a crash of wa2ai between two attempts', async () => {
    const { agent, person, id } = refused;
    expect((await person.nextReply()).text).toBe('42');
    expect(await bed.untilTurnEnded(id)).toMatchObject({
      state: 'answered',
      attempts: agent.requests.length,
    });
  });
});
