import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../router/src/core/errors.ts';
import type { AbiConfig, IncomingMessage } from '../../router/src/core/models.ts';
import { AbiAgentClient, callUrl } from '../../router/src/infra/abi-agent-client.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { echoFunctions, specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiEthersAgent } from '../fixtures/abi-ethers-agent.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { recordingLog } from '../support/quiet-log.ts';
import { inbound, TestRouter } from '../support/router.ts';

const functions = [...specificationFunctions, ...echoFunctions];
const vitalik = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const most = (2n ** 256n - 1n).toString();

let mock: AbiStandIn;
let ethers: AbiStandIn;
let naive: AbiStandIn;
const servers: Server[] = [];

beforeAll(async () => {
  [mock, ethers, naive] = await Promise.all([
    startAbiMockAgent(),
    startAbiEthersAgent(),
    startAbiNaiveAgent(),
  ]);
});

afterAll(async () => {
  await Promise.all([mock.close(), ethers.close(), naive.close()]);
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

function saying(text: string, more: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    id: '3EB0ABC',
    from: '34600111222@s.whatsapp.net',
    channelId: '34600111222',
    text,
    timestamp: new Date(1_700_000_000_000),
    ...more,
  };
}

function client(config: Partial<AbiConfig> = {}, timeoutMs = 5_000): AbiAgentClient {
  return new AbiAgentClient({ abi: { functions, ...config }, timeoutMs });
}

async function ask(agent: { url: string }, text: string, config: Partial<AbiConfig> = {}) {
  return (await client(config).sendMessage(agent.url, saying(text))).response;
}

async function failure(
  agent: { url: string },
  text: string,
  config: Partial<AbiConfig> = {},
  timeoutMs?: number,
) {
  return await client(config, timeoutMs)
    .sendMessage(agent.url, saying(text))
    .then(
      (response) => {
        throw new Error(`it answered ${JSON.stringify(response)}`);
      },
      (error: Wa2aiError) => error,
    );
}

/** A server that answers as the listener says. */
async function serverOf(listener: RequestListener): Promise<{ url: string }> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A command and its reply, for every type that there is. */
const conversations: Array<[string, string]> = [
  ['/greet Alice', 'Hello, Alice!'],
  ['/add 2 40', '42'],
  [`/add ${most} 0`, most],
  ['/sumArray [1,2,3]', '6'],
  ['/processUser {"name":"Ann","age":30}', 'Hello Ann, age 30!'],
  [
    '/analyze 0x1234',
    'hash: 0x56570de287d73cd1cb6092bb8fdee6173974955fdef345ae579ee9f475ea7432\nsize: 2\nvalid: true',
  ],
  ['/echoUint8 255', '255'],
  ['/echoInt8 -128', '-128'],
  [`/echoInt256 ${-(2n ** 255n)}`, (-(2n ** 255n)).toString()],
  ['/echoBool yes', 'true'],
  [`/echoAddress ${vitalik.toLowerCase()}`, vitalik],
  ['/echoBytes4 0x01020304', '0x01020304'],
  [`/echoBytes32 0x${'ab'.repeat(32)}`, `0x${'ab'.repeat(32)}`],
  ['/echoBytes aGVsbG8=', '0x68656c6c6f'],
  ['/echoString ¿Qué tal? 😀', '¿Qué tal? 😀'],
  ['/echoTexts ["a, b", "", c]', '1. a, b\n2. \n3. c'],
  ['/echoList []', '(none)'],
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

describe('agents on viem and on ethers', () => {
  it.each(conversations)('answer %s', async (text, reply) => {
    expect(await ask(mock, text)).toBe(reply);
    expect(await ask(ethers, text)).toBe(reply);
  });

  it('are sent the selector and the arguments, as bytes, to the path of the route', async () => {
    const headers = { 'x-api-key': 'secret-key' };
    const response = await client({ function: 'add', path: '/v1/call', headers }).sendMessage(
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
    expect(response).toEqual({ success: true, response: '42', metadata: { abi }, detail: { abi } });
  });

  it("are not asked for help, the list or a person's mistake", async () => {
    const before = mock.requests.length;
    const answer = await client().sendMessage(mock.url, saying('/processUser {"name":"Ann","age":"ten"}'));
    expect(answer).toMatchObject({
      success: true,
      response: "age must be a whole number from 0 to 2^256-1, got 'ten'.",
      metadata: { abi: { answeredBy: 'wa2ai', why: 'mistake' } },
    });
    expect(await ask(mock, '/help add')).toMatch(/^\/add\n/);
    expect(await ask(mock, 'hi')).toMatch(/^You can write:\n\/greet name: string\n/);
    expect(mock.requests).toHaveLength(before);
  });

  it('may be shown by a template, and may answer nothing', async () => {
    expect(await ask(mock, '2 40', { function: 'add', output: 'It is {{sum}}.' })).toBe('It is 42.');
    const silent = await serverOf((_request, response) => response.end('OK'));
    expect(await ask(silent, 'x', { functions: ['function note(string text)'] })).toBeUndefined();
  });

  it('may speak the JSON envelope, found out once under auto', async () => {
    const agent = await startAbiMockAgent();
    agent.change({ mode: 'json' });
    expect(await ask(agent, '/add 2 40', { envelope: 'json' })).toBe('42');
    expect(JSON.parse(String(agent.requests[0]?.body))).toMatchObject({
      requestId: '3EB0ABC',
      request: expect.stringMatching(/^0x771602f7/),
    });
    const learning = client({ envelope: 'auto' });
    for (const text of ['/add 1 1', '/add 2 2']) await learning.sendMessage(agent.url, saying(text));
    expect(agent.requests.map(({ headers }) => headers['content-type'])).toEqual([
      'application/json',
      'application/octet-stream',
      'application/json',
      'application/json',
    ]);
    expect((await failure(agent, '/add 1 1')).message).toMatch(/answered status 500/);
    await agent.close();
    expect(await ask(mock, '/add 2 40', { envelope: 'auto' })).toBe('42');
  });

  it('may be described by a manifest, which is fetched once', async () => {
    let fetches = 0;
    const abi = [
      {
        type: 'function',
        name: 'greet',
        inputs: [{ name: 'name', type: 'string' }],
        outputs: [{ name: 'greeting', type: 'string' }],
      },
    ];
    const manifest = await serverOf((_request, response) => {
      fetches += 1;
      response.end(JSON.stringify({ name: 'greeter', abi }));
    });
    const greeter = client({ functions: `${manifest.url}/agent.json` });
    for (const name of ['Ann', 'Bo']) {
      expect((await greeter.sendMessage(mock.url, saying(name))).response).toBe(`Hello, ${name}!`);
    }
    expect(fetches).toBe(1);
    const none = await serverOf((_request, response) => response.end('{}'));
    expect(await failure(mock, 'x', { functions: none.url })).toBeInstanceOf(AgentProtocolError);
  });
});

describe("an agent with the defects of a first example's code", () => {
  it('works where they do not show', async () => {
    expect(await ask(naive, '/greet Alice')).toBe('Hello, Alice!');
    expect(await ask(naive, '/add 2 40')).toBe('42');
  });

  it('is told that its tuple selectors are wrong', async () => {
    const error = await failure(naive, '/processUser {"name":"Ann","age":30}');
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toMatch(
      /Unknown function selector \(the agent seems to compute tuple selectors wrongly, from processUser\(tuple\)/,
    );
  });

  it.each([
    ['a bool', '/validate x', 'function validate(string input) returns (bool valid)'],
    ['an address', `/echoAddress ${vitalik}`, undefined],
    ['fixed bytes', '/echoBytes4 0x01020304', undefined],
  ])('is told that it wraps %s in a list', async (_name, text, extra) => {
    const error = await failure(naive, text, extra ? { functions: [...functions, extra] } : {});
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toMatch(/may wrap its single \w+ output in a list/);
  });
});

describe('agents that fail', () => {
  it.each([
    [503, {}, AgentUnavailableError],
    [429, {}, AgentUnavailableError],
    [502, {}, AgentUnavailableError],
    [504, {}, AgentTimeoutError],
    [400, {}, AgentProtocolError],
    [500, {}, AgentProtocolError],
    [404, {}, AgentProtocolError],
    [400, { idempotent: true }, AgentUnavailableError],
    [500, { idempotent: true }, AgentUnavailableError],
    [404, { idempotent: true }, AgentProtocolError],
  ])('with %i and %j', async (status, config, kind) => {
    const agent = await serverOf((_request, response) => {
      response.writeHead(status, { 'retry-after': '7' }).end('<h1>Broken</h1> for person 34600111222');
    });
    const error = await failure(agent, '/greet Alice', config);
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toBe(`The ABI agent answered status ${status}: Broken for person [user]`);
    if (status === 503) expect((error as AgentUnavailableError).retryAfterMs).toBe(7_000);
    expect(error.detail).toMatchObject({ abi: { function: 'greet(string)', arguments: { name: 'Alice' } } });
    expect(JSON.stringify(error)).not.toContain('Alice');
  });

  it('by not being there, by silence, by a lost connection', async () => {
    const gone = await startAbiMockAgent();
    await gone.close();
    expect(await failure(gone, '/greet A')).toBeInstanceOf(AgentUnavailableError);
    expect(await failure({ url: 'http://127.0.0.1:6000' }, '/greet A')).toBeInstanceOf(AgentUnavailableError);
    const silent = await serverOf(() => undefined);
    expect(await failure(silent, '/greet A', {}, 200)).toBeInstanceOf(AgentTimeoutError);
    expect(await failure(silent, '/greet A', { idempotent: true, timeoutMs: 200 })).toBeInstanceOf(
      AgentUnavailableError,
    );
    const rude = await serverOf((request) => request.socket.destroy());
    expect(await failure(rude, '/greet A')).toBeInstanceOf(AgentTimeoutError);
  });

  it('by an answer that is empty, garbled, of another type or too large', async () => {
    const agent = await startAbiMockAgent();
    const answering = async (body: Buffer, text = '/greet A') => {
      agent.change({ body });
      return (await failure(agent, text)).message;
    };
    const empty = await serverOf((_request, response) => response.end());
    expect((await failure(empty, '/greet A')).message).toBe(
      'The ABI agent answered nothing; greet answers (string).',
    );
    expect(await answering(Buffer.from('Hello, A!'))).toBe(
      "The ABI agent's answer of 9 bytes to greet is not (string): it ends before greeting's offset.",
    );
    expect(await answering(Buffer.alloc(32, 7))).toMatch(/is not \(string\)/);
    expect(await answering(Buffer.from('{"steps":[],"result":"0x"}'))).toMatch(
      /it speaks the JSON envelope, set envelope to json/,
    );
    expect(await answering(Buffer.alloc(10 * 1024 * 1024 + 1))).toMatch(/too large/);
    await agent.close();
  });

  it('by 10 MB of hostile outputs, in bounded time, and the next call works', async () => {
    const agent = await startAbiMockAgent();
    const hostile = [Buffer.alloc(10 * 1024 * 1024, 0xff), Buffer.alloc(10 * 1024 * 1024)];
    // Every word 32: an offset, a length and an item at once.
    for (let at = 31; at < 10 * 1024 * 1024; at += 32) (hostile[1] as Buffer)[at] = 32;
    for (const text of [
      '/greet A',
      '/sumArray [1]',
      '/echoNested [["a"],[]]',
      '/echoDeep ["a",[]]',
      '/echoTuples []',
    ]) {
      for (const body of hostile) {
        agent.change({ body });
        const startedMs = performance.now();
        expect(await failure(agent, text)).toBeInstanceOf(AgentProtocolError);
        expect(performance.now() - startedMs).toBeLessThan(4_000);
      }
    }
    expect(await ask(mock, '/add 2 40')).toBe('42');
    await agent.close();
  });

  it('by an endless answer, which is cut off', async () => {
    const endless = await serverOf((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    expect((await failure(endless, '/greet A')).message).toMatch(/too large/);
  });

  it('without a word of the person in the log', async () => {
    const log = recordingLog();
    const talkative = new AbiAgentClient({ abi: { functions }, log });
    await talkative.sendMessage(mock.url, saying('/greet Alice in Wonderland'));
    await talkative.sendMessage(mock.url, saying('/greet'));
    expect(JSON.stringify(log.lines)).not.toMatch(/Wonderland|34600111222/);
  });
});

describe('where a call goes', () => {
  it.each([
    ['http://agent', undefined, 'http://agent/'],
    ['http://agent:8080/base', undefined, 'http://agent:8080/base'],
    ['http://agent/base/?k=1', '/call', 'http://agent/base/call?k=1'],
  ])('%s %s', (endpoint, path, url) => {
    expect(callUrl(endpoint, path)).toBe(url);
  });

  it.runIf(process.getuid?.() === 0)('is port 80 without a port, where a container listens', async () => {
    const agent = await startAbiMockAgent({ port: 80 });
    try {
      expect(await ask({ url: 'http://127.0.0.1' }, '/greet Alice')).toBe('Hello, Alice!');
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

  async function abiRoute(person: string, url: string, abi: Partial<AbiConfig> = {}) {
    return router.routes.create({
      accountId: 'default',
      channelId: person,
      agentEndpoint: url,
      environment: 'lab',
      priority: 0,
      enabled: true,
      config: { abi: { functions, ...abi } },
    });
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
      outcome: 'asked',
      abi: { function: 'add(uint256,uint256)', arguments: { a: '2', b: '2' }, outputs: { sum: '4' } },
    });
  });

  it('tries a 503 again and a 500 not, and keeps the error out of the chat', async () => {
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
