import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../router/src/core/errors.ts';
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
