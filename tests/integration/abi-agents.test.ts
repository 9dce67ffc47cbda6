import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../router/src/core/errors.ts';
import type { AbiSettings } from '../../router/src/infra/agents/abi/abi-settings.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiEthersAgent } from '../fixtures/abi-ethers-agent.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import {
  abiClient,
  abiConversation,
  abiFailure,
  abiFunctions,
  askAbi,
  saying,
  serverOf,
  vitalik,
} from '../support/abi.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inbound, TestRouter } from '../support/router.ts';
import { aNewRoute } from '../support/routes.ts';

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

describe('agents built on viem and on ethers', () => {
  it.each(abiConversation)('reply to $text', async ({ text, reply }) => {
    expect(await askAbi(mock, text)).toBe(reply);
    expect(await askAbi(ethers, text)).toBe(reply);
  });

  it('receive the selector and the arguments, as bytes, at the path of the route', async () => {
    const headers = { 'x-api-key': 'secret-key' };
    const response = await abiClient({ function: 'add', path: '/v1/call', headers }).sendMessage(
      mock.url,
      saying('2 40'),
    );
    const request = mock.requests.at(-1);
    expect(request?.body.toString('hex')).toBe(`771602f7${'2'.padStart(64, '0')}${'28'.padStart(64, '0')}`);
    expect(request?.path).toBe('/v1/call');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-api-key': 'secret-key',
    });
    const abi = {
      function: 'add(uint256,uint256)',
      selector: '0x771602f7',
      arguments: { a: '2', b: '40' },
      outputs: { sum: '42' },
      calldata: `0x${request?.body.toString('hex')}`,
    };
    expect(response).toEqual({
      success: true,
      response: '42',
      isPlain: true,
      metadata: { abi },
      detail: { abi },
    });
  });

  it('are not called for help, the list of functions or a user error', async () => {
    const before = mock.requests.length;
    const answer = await abiClient().sendMessage(mock.url, saying('/processUser {"name":"Ann","age":"ten"}'));
    expect(answer).toMatchObject({
      success: true,
      response: "age must be a whole number from 0 to 2^256-1, got 'ten'.",
      metadata: { abi: { answeredBy: 'wa2ai', why: 'mistake' } },
    });
    expect(await askAbi(mock, '/help add')).toMatch(/^\/add\n/);
    expect(await askAbi(mock, 'hi')).toMatch(/^You can write:\n\/greet name: string\n/);
    expect(mock.requests).toHaveLength(before);
  });

  it('can be rendered by a template, and can return no output', async () => {
    expect(await askAbi(mock, '2 40', { function: 'add', output: 'It is {{sum}}.' })).toBe('It is 42.');
    const functions = ['function note(string text)'];
    const silent = await serverOf((_request, response) => response.end('OK'));
    expect(await askAbi(silent, 'x', { functions })).toBeUndefined();
    const empty = await serverOf((_request, response) => response.writeHead(204).end());
    expect(await askAbi(empty, 'x', { functions })).toBeUndefined();
    expect((await abiFailure(empty, '/greet A')).message).toBe(
      'The ABI agent answered nothing; greet answers (string).',
    );
  });

  it('can use the JSON envelope, which is detected once under auto', async () => {
    const agent = await startAbiMockAgent();
    agent.change({ mode: 'json' });
    expect(await askAbi(agent, '/add 2 40', { envelope: 'json' })).toBe('42');
    expect(JSON.parse(String(agent.requests[0]?.body))).toMatchObject({
      requestId: '3EB0ABC',
      request: expect.stringMatching(/^0x771602f7/),
    });
    const learning = abiClient({ envelope: 'auto' });
    for (const text of ['/add 1 1', '/add 2 2']) await learning.sendMessage(agent.url, saying(text));
    expect(agent.requests.map(({ headers }) => headers['content-type'])).toEqual([
      'application/json',
      'application/octet-stream',
      'application/json',
      'application/json',
    ]);
    expect((await abiFailure(agent, '/add 1 1')).message).toMatch(/answered status 500/);
    await agent.close();
    expect(await askAbi(mock, '/add 2 40', { envelope: 'auto' })).toBe('42');
  });
});

describe('an agent with the defects of a naive example', () => {
  it('answers the calls that the defects do not affect', async () => {
    expect(await askAbi(naive, '/greet Alice')).toBe('Hello, Alice!');
    expect(await askAbi(naive, '/add 2 40')).toBe('42');
  });

  it('is reported to have wrong tuple selectors', async () => {
    const error = await abiFailure(naive, '/processUser {"name":"Ann","age":30}');
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toMatch(
      /Unknown function selector \(the agent seems to compute tuple selectors wrongly, from processUser\(tuple\)/,
    );
  });

  it.each([
    ['a bool', '/validate x', 'function validate(string input) returns (bool valid)'],
    ['an address', `/echoAddress ${vitalik}`, undefined],
    ['fixed bytes', '/echoBytes4 0x01020304', undefined],
  ])('is reported to wrap %s in a list', async (_name, text, extra) => {
    const error = await abiFailure(naive, text, extra ? { functions: [...abiFunctions, extra] } : {});
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toMatch(/may wrap its single \w+ output in a list/);
  });
});

describe('the URL of a call', () => {
  it.runIf(process.getuid?.() === 0)('has port 80 by default, where a container listens', async () => {
    const agent = await startAbiMockAgent({ port: 80 });
    try {
      expect(await askAbi({ url: 'http://127.0.0.1' }, '/greet Alice')).toBe('Hello, Alice!');
    } finally {
      await agent.close();
    }
  });
});

describe('an ABI route', () => {
  let database: TestDatabase;
  let router: TestRouter;

  beforeAll(async () => {
    database = await createTestDatabase();
    router = await TestRouter.start(database);
  });

  afterAll(async () => {
    await router.stop();
    await database.drop();
  });

  async function abiRoute(person: string, url: string, abi: Partial<AbiSettings> = {}) {
    return router.routes.create(
      aNewRoute({
        channelId: person,
        agentEndpoint: url,
        config: { agent: { kind: 'abi', settings: { functions: abiFunctions, ...abi } } },
      }),
    );
  }

  function lastOf(trace: unknown): unknown {
    return Array.isArray(trace) ? trace.at(-1) : undefined;
  }

  async function rowOf(waMessageId: string) {
    const rows = await router.log.messages({ limit: 50 });
    return rows.find((row) => row.waMessageId === waMessageId);
  }

  it('answers in order, and the message log shows arguments and outputs', async () => {
    const person = '5491100000101';
    await abiRoute(person, mock.url);
    const messages = ['/add 1 1', '/add 1 x', '/add 2 2'].map((text) => inbound({ person, text }));
    for (const message of messages) await router.receive(message);
    expect(router.textsTo(`${person}@s.whatsapp.net`)).toEqual([
      '2',
      "b must be a whole number from 0 to 2^256-1, got 'x'.",
      '4',
    ]);
    const row = await rowOf(messages[2]?.waMessageId ?? '');
    expect(row?.state).toBe('answered');
    expect(lastOf(row?.trace)).toMatchObject({
      outcome: 'called',
      abi: { function: 'add(uint256,uint256)', arguments: { a: '2', b: '2' }, outputs: { sum: '4' } },
    });
  });

  it('retries a 503 and not a 500, and sends no error to the chat', async () => {
    const person = '5491100000102';
    let status = 503;
    let asks = 0;
    const flaky = await serverOf((_request, response) => {
      asks += 1;
      response.writeHead(status).end('secret stack trace');
    });
    await abiRoute(person, flaky.url);
    const first = inbound({ person, text: '/greet A' });
    await router.receive(first);
    expect(asks).toBe(2);
    expect(await rowOf(first.waMessageId)).toMatchObject({
      state: 'dead',
      reason: 'AGENT_UNAVAILABLE',
      attempts: 2,
    });
    status = 500;
    const second = inbound({ person, text: '/greet B' });
    await router.receive(second);
    expect(asks).toBe(3);
    const row = await rowOf(second.waMessageId);
    expect(row).toMatchObject({
      state: 'dead',
      reason: 'AGENT_PROTOCOL',
      error: expect.stringContaining('secret stack trace'),
    });
    expect(lastOf(row?.trace)).toMatchObject({ abi: { arguments: { name: 'B' } } });
    expect(router.textsTo(`${person}@s.whatsapp.net`)).toEqual([]);
  });
});
