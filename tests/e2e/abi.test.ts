import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { echoFunctions, specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiEthersAgent } from '../fixtures/abi-ethers-agent.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import { Stage } from '../support/stage.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const functions = [...specificationFunctions, ...echoFunctions];
const vitalik = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const most = (2n ** 256n - 1n).toString();

let stage: Stage;
let mock: AbiStandIn;
let ethers: AbiStandIn;
let naive: AbiStandIn;

beforeAll(async () => {
  [mock, ethers, naive] = await Promise.all([
    startAbiMockAgent(),
    startAbiEthersAgent(),
    startAbiNaiveAgent(),
  ]);
  stage = await Stage.setAndPaired({ env: { WA2AI_AGENT_ATTEMPTS: '2', WA2AI_AGENT_PATIENCE_MS: '0' } });
});

afterAll(async () => {
  await stage.strike();
  await Promise.all([mock.close(), ethers.close(), naive.close()]);
});

async function abiRoute(channelId: string, agent: AbiStandIn, abi: Record<string, unknown> = {}) {
  const { status, body } = await stage.service.api('POST', '/api/routes', {
    channelId,
    agentEndpoint: agent.url,
    environment: 'lab',
    config: { abi: { functions, ...abi } },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data as { id: string };
}

async function untilTurnEnded(waMessageId: string) {
  let row: Record<string, unknown> | undefined;
  const state = async () => {
    row = await stage.message(waMessageId);
    return row?.state;
  };
  await expect.poll(state, { timeout: 20_000 }).not.toBeOneOf([undefined, 'received']);
  return row as Record<string, unknown>;
}

/** What a person writes and what comes back, for every type. */
const conversation: Array<[string, string]> = [
  ['/greet Alice', 'Hello, Alice!'],
  ['/add 2 40', '42'],
  ['/sumArray [1,2,3]', '6'],
  ['/processUser {“name”:“Ann”,“age”:30}', 'Hello Ann, age 30!'],
  [
    '/analyze 0x1234',
    'hash: 0x56570de287d73cd1cb6092bb8fdee6173974955fdef345ae579ee9f475ea7432\nsize: 2\nvalid: true',
  ],
  ['/echoUint8 255', '255'],
  [`/echoUint256 ${most}`, most],
  ['/echoInt8 -128', '-128'],
  [`/echoInt256 ${-(2n ** 255n)}`, (-(2n ** 255n)).toString()],
  ['/echoBool no', 'false'],
  [`/echoAddress ${vitalik.toLowerCase()}`, vitalik],
  ['/echoBytes4 0x01020304', '0x01020304'],
  [`/echoBytes32 0x${'ab'.repeat(32)}`, `0x${'ab'.repeat(32)}`],
  ['/echoBytes aGVsbG8=', '0x68656c6c6f'],
  ['/echoString ¿Qué tal? 😀', '¿Qué tal? 😀'],
  ['/echoList [1, 0xff]', '1, 255'],
  ['/echoTexts ["a, b", c]', '1. a, b\n2. c'],
  ['/echoPair [-5, 6]', '-5, 6'],
  ['/echoGrid [[1,2],[3,4]]', '1. 1, 2\n2. 3, 4'],
  ['/echoNested [["a"],[]]', '1. a\n2. (none)'],
  ['/echoNamed {"name":"Ann","age":30}', 'name: Ann\nage: 30'],
  [`/echoUnnamed [true, "${vitalik}"]`, `1: true\n2: ${vitalik}`],
  [
    '/echoDeep {"name":"Ann","items":[{"level":1,"parts":["0x12","0x"]}]}',
    'name: Ann\nitems:\n  1. level: 1\n    parts: 0x12, 0x',
  ],
  ['/echoTuples [{"name":"A","age":1},["B",2]]', '1. name: A\n  age: 1\n2. name: B\n  age: 2'],
];

describe('an ABI agent through WhatsApp', () => {
  it.each([
    ['on viem', () => mock],
    ['on ethers', () => ethers],
  ])('%s answers every type in a 1:1 chat', async (_name, agentOf) => {
    const person = stage.person();
    await abiRoute(person.phone, agentOf());
    for (const [text, reply] of conversation) {
      await person.say(text, { to: stage.phone });
      expect((await person.nextReply(10_000)).text).toBe(reply);
    }
  });

  it.each([
    ['on viem', () => mock],
    ['on ethers', () => ethers],
  ])('%s answers every type in a group', async (_name, agentOf) => {
    const [ann, bo] = [stage.person(), stage.person()];
    const group = createGroup(stage.emulator, { subject: 'Numbers', members: [ann, bo, stage.phone] });
    await abiRoute(group.jid, agentOf());
    for (const [text, reply] of conversation) {
      await ann.say(text, { to: group });
      expect(await bo.nextReply(10_000)).toMatchObject({ text: reply, chat: group.jid });
    }
  });

  it('with the defects of a first example answers what it can, and the admin reads what to mend', async () => {
    const person = stage.person();
    await abiRoute(person.phone, naive);
    await person.say('/greet Alice', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toBe('Hello, Alice!');
    const tuple = await person.say('/processUser {"name":"Ann","age":30}', { to: stage.phone });
    expect(await untilTurnEnded(tuple)).toMatchObject({
      state: 'dead',
      error: expect.stringContaining('compute tuple selectors wrongly'),
      replies: [],
    });
    const bool = await person.say('/echoBool yes', { to: stage.phone });
    expect(await untilTurnEnded(bool)).toMatchObject({
      state: 'dead',
      error: expect.stringContaining('wrap its single bool output'),
      replies: [],
    });
    expect(person.received).toHaveLength(1);
  });

  it("tells a person's mistake in one sentence, and lists the functions to who asks", async () => {
    const person = stage.person();
    await abiRoute(person.phone, mock);
    const before = mock.requests.length;
    await person.say('/processUser {"name":"Ann","age":"ten"}', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toBe(
      "age must be a whole number from 0 to 2^256-1, got 'ten'.",
    );
    await person.say('/help', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toContain('/add a: uint256, b: uint256');
    expect(mock.requests).toHaveLength(before);
  });

  it('is explained before it is asked, and its call is in the message log after', async () => {
    const person = stage.person();
    await abiRoute(person.phone, mock, {
      function: 'greet',
      args: ['{{name}}: {{text}}'],
      output: '*{{greeting}}*',
    });
    const { body } = await stage.service.api('POST', '/api/routes/explain', {
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
    const id = await person.say('hi', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toBe(`*Hello, ${person.pushName}: hi!*`);
    const row = await untilTurnEnded(id);
    expect((row.trace as unknown[]).at(-1)).toMatchObject({
      outcome: 'asked',
      abi: {
        arguments: { name: `${person.pushName}: hi` },
        outputs: { greeting: `Hello, ${person.pushName}: hi!` },
      },
    });
  });
});

describe('a crash in the middle of an ABI call', () => {
  it('ends in one reply after the next start', async () => {
    const person = stage.person();
    const agent = await startAbiMockAgent();
    await abiRoute(person.phone, agent);
    await person.say('/add 1 1', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toBe('2');
    agent.change({ delayMs: 60_000 });
    await person.say('/add 2 40', { to: stage.phone });
    await expect.poll(() => agent.requests.length, { timeout: 10_000 }).toBe(2);
    await stage.service.end('SIGKILL');
    agent.change({ delayMs: 0 });
    await stage.restartService();
    expect((await person.nextReply(30_000)).text).toBe('42');
    await person.say('/add 3 3', { to: stage.phone });
    expect((await person.nextReply(10_000)).text).toBe('6');
    expect(person.received.map(({ text }) => text)).toEqual(['2', '42', '6']);
    await agent.close();
  });
});

describe('saving an ABI route', () => {
  it('names each mistake with its path and a sentence', async () => {
    const save = (abi: Record<string, unknown>) =>
      stage.service.api('POST', '/api/routes', {
        channelId: '*',
        agentEndpoint: mock.url,
        environment: 'lab',
        config: { abi },
      });
    const wrong = await save({ functions: ['function add(uint7 a)', 'nonsense'] });
    expect(wrong.status).toBe(400);
    expect(wrong.body.details).toEqual([
      { field: 'config.abi.functions[0]', message: "'uint7' is not an ABI type" },
      { field: 'config.abi.functions[1]', message: "'nonsense' has the end where '(' belongs" },
    ]);
    const template = await save({ functions, function: 'add', args: ['{{text}}', '{{from}}'] });
    expect(template.body).toMatchObject({
      code: 'INVALID_BODY',
      error: expect.stringMatching(
        /^config\.abi\.args does not fit add\(uint256,uint256\): b must be a whole number/,
      ),
    });
  });
});
