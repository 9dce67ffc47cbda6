import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { abiFunctions } from '../support/abi.ts';
import { TestBed } from '../support/test-bed.ts';
import { unusedPort } from '../support/unused-port.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(() => bed.close());

async function mockAgent(port?: number): Promise<AbiStandIn> {
  const agent = await startAbiMockAgent({ port });
  onTestFinished(() => agent.close());
  return agent;
}

/** A person with a route to this agent. */
async function personAt(url: string, abi: Record<string, unknown> = {}): Promise<Person> {
  const person = bed.person();
  const { status, body } = await bed.service.api('POST', '/api/routes', {
    channelId: person.phone,
    agentEndpoint: url,
    environment: 'lab',
    config: { abi: { functions: abiFunctions, ...abi } },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return person;
}

describe('An ABI agent that is unavailable', () => {
  it('with 503 for a while is called again and answers once', async () => {
    const agent = await mockAgent();
    const person = await personAt(agent.url);
    agent.change({ fail: 503 });
    const id = await person.say('/add 2 40', { to: bed.phone });
    await expect.poll(() => agent.requests.length).toBeGreaterThan(1);
    agent.change({ fail: undefined });
    expect((await person.nextReply()).text).toBe('42');
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'answered', attempts: agent.requests.length });
    expect(person.received).toHaveLength(1);
  });

  it('because it has not started is called when it has, and answers once', async () => {
    const port = await unusedPort();
    const person = await personAt(`http://127.0.0.1:${port}`);
    const id = await person.say('/add 2 40', { to: bed.phone });
    const refused = ({ msg, error }: { msg: string; error?: unknown }) =>
      msg === 'agent did not answer' && String(error).includes(`ECONNREFUSED 127.0.0.1:${port}`);
    await bed.service.untilLog(refused);
    const agent = await mockAgent(port);
    expect((await person.nextReply()).text).toBe('42');
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'answered' });
    expect(agent.requests).toHaveLength(1);
  });
});

describe('An ABI agent that rejects a call', () => {
  it.each([
    [400, {}, 1],
    [500, {}, 1],
    [400, { idempotent: true }, 3],
    [500, { idempotent: true }, 3],
  ])(
    'with %i and %j is retried only when that may help, and its text is not sent to the chat',
    async (fail, abi, asks) => {
      const agent = await mockAgent();
      agent.change({ fail });
      const person = await personAt(agent.url, abi);
      const row = await bed.untilTurnEnded(await person.say('/greet Alice', { to: bed.phone }));
      expect(row).toMatchObject({
        state: 'dead',
        error: `The ABI agent answered status ${fail}: Configured to fail`,
        attempts: asks,
        replies: [],
      });
      expect((row.trace as unknown[]).at(-1)).toMatchObject({
        abi: { function: 'greet(string)', arguments: { name: 'Alice' } },
      });
      expect(agent.requests).toHaveLength(asks);
      agent.change({ fail: undefined });
      await person.say('/add 1 1', { to: bed.phone });
      expect((await person.nextReply()).text).toBe('2');
      expect(person.received).toHaveLength(1);
    },
  );
});

describe('A dead letter of an ABI agent', () => {
  it('is answered once when it is replayed after the agent was repaired', async () => {
    const agent = await mockAgent();
    agent.change({ fail: 500 });
    const person = await personAt(agent.url);
    const row = await bed.untilTurnEnded(await person.say('/add 2 40', { to: bed.phone }));
    expect(row).toMatchObject({ state: 'dead' });
    agent.change({ fail: undefined });
    await bed.replay(row.id);
    expect((await person.nextReply()).text).toBe('42');
    expect(person.received).toHaveLength(1);
    expect(agent.requests).toHaveLength(2);
  });
});

describe('Hostile outputs of an ABI agent', () => {
  it('end in a dead letter with the reason, while other chats are answered', async () => {
    const [hostile, kind] = [await mockAgent(), await mockAgent()];
    const [victim, other] = [await personAt(hostile.url), await personAt(kind.url)];
    const every32 = Buffer.alloc(10 * 1024 * 1024);
    for (let at = 31; at < every32.length; at += 32) every32[at] = 32;
    const before = await residentMegabytes();
    let asked = 0;
    for (const body of [Buffer.alloc(10 * 1024 * 1024, 0xff), every32, Buffer.from('garbled')]) {
      hostile.change({ body });
      for (const text of ['/greet A', '/sumArray [1]', '/echoNested [["a"],[]]', '/echoDeep ["a",[]]']) {
        const id = await victim.say(text, { to: bed.phone });
        asked += 1;
        await other.say(`/add ${asked} 40`, { to: bed.phone });
        expect((await other.nextReply()).text).toBe(String(asked + 40));
        const row = await bed.untilTurnEnded(id);
        expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_PROTOCOL', replies: [] });
        expect(row.error).toMatch(/^The ABI agent's answer of \d+ bytes to \w+ is not \(/);
      }
    }
    expect(victim.received).toEqual([]);
    expect((await residentMegabytes()) - before).toBeLessThan(300);
  });

  async function residentMegabytes(): Promise<number> {
    const text = await (await fetch(`${bed.service.url}/metrics`)).text();
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 1024 / 1024;
  }
});

describe('A crash', () => {
  it.each([
    ['in the middle of an ABI call', { delayMs: 60_000 }],
    ['between two tries of an ABI call', { fail: 503 }],
  ])('%s ends in one reply after the next start', async (_name, trouble) => {
    const agent = await mockAgent();
    const person = await personAt(agent.url);
    await person.say('/add 1 1', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('2');
    agent.change(trouble);
    await person.say('/add 2 40', { to: bed.phone });
    await expect.poll(() => agent.requests.length).toBeGreaterThan(1);
    await bed.service.end('SIGKILL');
    agent.change({ delayMs: 0, fail: undefined });
    await bed.restartService();
    expect((await person.nextReply()).text).toBe('42');
    await person.say('/add 3 3', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('6');
    expect(person.received.map(({ text }) => text)).toEqual(['2', '42', '6']);
  });
});
