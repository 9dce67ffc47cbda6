import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiEthersAgent } from '../fixtures/abi-ethers-agent.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import { type AbiExchange, abiConversation, abiFunctions } from '../support/abi.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const bed = TestBed.shared();
let mock: AbiStandIn;
let ethers: AbiStandIn;
let naive: AbiStandIn;

beforeAll(async () => {
  [mock, ethers, naive] = await Promise.all([
    startAbiMockAgent(),
    startAbiEthersAgent(),
    startAbiNaiveAgent(),
  ]);
});

afterAll(async () => {
  await Promise.all([mock.close(), ethers.close(), naive.close()]);
});

async function abiRoute(channelId: string, agent: AbiStandIn, abi: Record<string, unknown> = {}) {
  const { status, body } = await bed.service.api('POST', '/api/routes', {
    channelId,
    agentEndpoint: agent.url,
    environment: 'lab',
    config: { abi: { functions: abiFunctions, ...abi } },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data as { id: string };
}

type AgentName = 'viem' | 'ethers' | 'a first example';

/** What this agent does with the text: a reply, or an error with this text. */
function expectedOf({ reply, naive }: AbiExchange, agent: AgentName): string | RegExp {
  return (agent === 'a first example' ? naive : undefined) ?? reply;
}

function agentOf(name: AgentName): AbiStandIn {
  return name === 'viem' ? mock : name === 'ethers' ? ethers : naive;
}

const agentNames: AgentName[] = ['viem', 'ethers', 'a first example'];

describe('An ABI agent on WhatsApp', () => {
  it.each(agentNames)('on %s answers every type in a 1:1 chat', async (name) => {
    const person = bed.person();
    await abiRoute(person.phone, agentOf(name));
    const replies: string[] = [];
    for (const exchange of abiConversation) {
      const expected = expectedOf(exchange, name);
      const id = await person.say(exchange.text, { to: bed.phone });
      if (typeof expected === 'string') {
        expect((await person.nextReply()).text).toBe(expected);
        replies.push(expected);
      } else {
        const row = { state: 'dead', error: expect.stringMatching(expected), replies: [] };
        expect(await bed.untilTurnEnded(id), exchange.text).toMatchObject(row);
      }
    }
    expect(person.received.map(({ text }) => text)).toEqual(replies);
  });

  it.each(agentNames)('on %s answers every type in a group', async (name) => {
    const [ann, bo] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Numbers', members: [ann, bo, bed.phone] });
    await abiRoute(group.jid, agentOf(name));
    for (const exchange of abiConversation) {
      const expected = expectedOf(exchange, name);
      const id = await ann.say(exchange.text, { to: group });
      if (typeof expected === 'string') {
        expect(await bo.nextReply()).toMatchObject({ text: expected, chat: group.jid });
      } else {
        expect(await bed.untilTurnEnded(id), exchange.text).toMatchObject({
          state: 'dead',
          error: expect.stringMatching(expected),
        });
      }
    }
  });

  it('explains a user error in one sentence and lists its functions on request', async () => {
    const person = bed.person();
    await abiRoute(person.phone, mock);
    const before = mock.requests.length;
    const text = '/processUser {"name":"Ann","age":"ten"}';
    const sentence = "age must be a whole number from 0 to 2^256-1, got 'ten'.";
    await person.say(text, { to: bed.phone });
    expect((await person.nextReply()).text).toBe(sentence);
    const explained = await bed.service.api('POST', '/api/routes/explain', {
      channelId: person.phone,
      text,
    });
    expect(explained.body.data).toMatchObject({ call: { kind: 'answer', why: 'mistake', text: sentence } });
    await person.say('/help', { to: bed.phone });
    expect((await person.nextReply()).text).toContain('/add a: uint256, b: uint256');
    expect(mock.requests).toHaveLength(before);
  });

  it('whose function has no outputs is called and sends no reply', async () => {
    const person = bed.person();
    const agent = await startAbiMockAgent();
    agent.change({ body: Buffer.alloc(0) });
    await abiRoute(person.phone, agent, { functions: ['function note(string text)'] });
    const row = await bed.untilTurnEnded(await person.say('remember the milk', { to: bed.phone }));
    expect(row).toMatchObject({ state: 'answered', replies: [] });
    expect(agent.requests).toHaveLength(1);
    expect(person.received).toEqual([]);
    await agent.close();
  });

  it('is shown by explain before the call and in the message log after it', async () => {
    const person = bed.person();
    await abiRoute(person.phone, mock, {
      function: 'greet',
      args: ['{{name}}: {{text}}'],
      output: '*{{greeting}}*',
    });
    const { body } = await bed.service.api('POST', '/api/routes/explain', {
      channelId: person.phone,
      text: 'hi',
    });
    expect(body.data).toMatchObject({
      decision: 'route',
      call: {
        kind: 'call',
        function: 'greet(string)',
        selector: '0xead710c4',
        arguments: { name: ': hi' },
        calldata: expect.stringMatching(/^0xead710c4[0-9a-f]{192}$/),
      },
    });
    const id = await person.say('hi', { to: bed.phone });
    expect((await person.nextReply()).text).toBe(`*Hello, ${person.pushName}: hi!*`);
    const row = await bed.untilTurnEnded(id);
    expect((row.trace as unknown[]).at(-1)).toMatchObject({
      outcome: 'called',
      abi: {
        arguments: { name: `${person.pushName}: hi` },
        outputs: { greeting: `Hello, ${person.pushName}: hi!` },
      },
    });
  });
});

describe('Saving an ABI route', () => {
  it('reports each invalid field with its path and a sentence', async () => {
    const save = (abi: Record<string, unknown>) =>
      bed.service.api('POST', '/api/routes', {
        channelId: '*',
        agentEndpoint: mock.url,
        environment: 'lab',
        config: { abi },
      });
    const wrong = await save({ functions: ['function add(uint7 a)', 'nonsense'] });
    expect(wrong.status).toBe(400);
    expect(wrong.body.details).toMatchObject([
      { field: 'config.abi.functions[0]', message: "'uint7' is not an ABI type" },
      { field: 'config.abi.functions[1]', message: "'nonsense' has the end where '(' belongs" },
    ]);
    const template = await save({ functions: abiFunctions, function: 'add', args: ['{{text}}', '{{from}}'] });
    expect(template.body).toMatchObject({
      code: 'INVALID_BODY',
      error: expect.stringMatching(
        /^config\.abi\.args does not fit add\(uint256,uint256\): b must be a whole number/,
      ),
    });
  });
});
