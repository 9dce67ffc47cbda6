import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

function answer(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Messages of before and after: the chat goes on. */
async function stillWorks(person: Person): Promise<void> {
  await person.say('hello', { to: bed.phone });
  expect((await person.nextReply()).text).toBe('echo: hello');
}

describe('the chat of a person whose NPC agent answers a call with an error', () => {
  let agent: NpcDouble;
  /** Answers to the next calls that open a task. */
  const errors: Array<{ code: number; data?: unknown; headers?: Record<string, string> }> = [];
  const openedAtMs: number[] = [];

  beforeAll(async () => {
    agent = await NpcDouble.start();
    agent.options.misbehave = ({ rpc }, response) => {
      if (rpc?.method !== 'task.open') return false;
      openedAtMs.push(Date.now());
      const error = errors.shift();
      if (!error) return false;
      const { headers, ...rest } = error;
      answer(response, { jsonrpc: '2.0', id: rpc.id, error: { message: 'a secret', ...rest } }, headers);
      return true;
    };
  });
  afterAll(() => agent.stop());

  async function setup(): Promise<Person> {
    const person = bed.person();
    await bed.service.addRoute(person.phone, agent.url, { config: { adk: undefined, npc: { waitMs: 200 } } });
    return person;
  }

  it.each([
    [-32602, { field: 'wager', reason: 'must be less than 10' }, 'wager: must be less than 10.'],
    [-32602, { reason: 'The arena is closed' }, 'The arena is closed.'],
    [-32010, { reason: 'Balance is 3 wei' }, 'There are not enough funds for this.'],
    [-32011, { reason: 'Arena: paused' }, 'The contract did not accept this.'],
  ])('gets a sentence for %i with %j', async (code, data, sentence) => {
    const ana = await setup();
    errors.push({ code, data });
    const id = await ana.say('/trade sword 1 10', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe(sentence);
    expect(await bed.message(id)).toMatchObject({ state: 'answered' });
    await stillWorks(ana);
  });

  it.each([
    [-32001, 'AGENT_ACCESS_DENIED'],
    [-32602, 'AGENT_REPORTED_ERROR'],
    [-32603, 'AGENT_REPORTED_ERROR'],
    [-32600, 'AGENT_REPORTED_ERROR'],
  ])('gets nothing for %i without data, which is a dead letter for the admin', async (code, reason) => {
    const bo = await setup();
    errors.push({ code });
    const id = await bo.say('/trade sword 1 10', { to: bed.phone });
    const message = await bed.untilTurnEnded(id);
    expect(message).toMatchObject({ state: 'dead', reason });
    const { body } = await bed.service.api('GET', '/api/dead-letters?limit=100');
    const letters = body.data as Array<Record<string, unknown>>;
    expect(letters.find((letter) => letter.messageId === message.id)).toMatchObject({ reason });
    await stillWorks(bo);
    expect(bo.received.map(({ text }) => text)).toEqual(['echo: hello']);
  });

  it('gets the answer after -32002, not before the time that the agent asks for', async () => {
    const eva = await setup();
    errors.push({ code: -32002, headers: { 'retry-after': '1' } });
    openedAtMs.length = 0;
    await eva.say('Are you busy?', { to: bed.phone });
    expect((await eva.nextReply()).text).toBe('echo: Are you busy?');
    const [firstMs = 0, secondMs = 0] = openedAtMs;
    expect(openedAtMs).toHaveLength(2);
    // The clock of the machine may be set back by less than this.
    expect(secondMs - firstMs).toBeGreaterThanOrEqual(950);
  });
});

describe('the chat of a person whose A2A agent answers a call with an error of the table of A2A', () => {
  let agent: A2aDouble;
  let error: { code: number; message: string } | undefined;

  beforeAll(async () => {
    agent = await A2aDouble.start({
      misbehave: (request, response) => {
        if (request.method !== 'POST' || !error) return false;
        let text = '';
        (request as IncomingMessage).on('data', (chunk) => {
          text += chunk;
        });
        (request as IncomingMessage).on('end', () =>
          answer(response, { jsonrpc: '2.0', id: JSON.parse(text).id, error }),
        );
        return true;
      },
    });
  });
  afterAll(() => agent.stop());

  // The numbers of the first two mean "authentication failed" and "rate limit exceeded" to an NPC agent.
  it.each([
    [-32001, 'Task not found: a secret'],
    [-32002, 'Task cannot be canceled: a secret'],
    [-32004, 'This operation is not supported: a secret'],
    [-32005, 'Incompatible content types: a secret'],
    [-32603, 'Internal error: a secret'],
  ])('gets nothing for %i, and the agent is asked once', async (code, message) => {
    const dan = bed.person();
    await bed.service.addRoute(dan.phone, agent.url, {
      config: { adk: undefined, a2a: { streaming: false } },
    });
    const posts = () => agent.requests.filter(({ path }) => !path.includes('well-known')).length;
    const before = posts();
    error = { code, message };
    const id = await dan.say('hi', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'dead', reason: 'AGENT_REPORTED_ERROR' });
    expect(posts()).toBe(before + 1);
    error = undefined;
    await stillWorks(dan);
    expect(dan.received.map(({ text }) => text)).toEqual(['echo: hello']);
  });
});
