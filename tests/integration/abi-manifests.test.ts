import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProtocolError, AgentUnavailableError } from '../../router/src/core/errors.ts';
import { Manifests } from '../../router/src/infra/agents/abi/input/manifests.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { abiClient, abiFailure, abiFunctions, saying, serverOf } from '../support/abi.ts';
import { FakeClock } from '../support/fake-clock.ts';

const MINUTE_MS = 60_000;
const abi = [
  {
    type: 'function',
    name: 'greet',
    inputs: [{ name: 'name', type: 'string' }],
    outputs: [{ name: 'greeting', type: 'string' }],
  },
];

let mock: AbiStandIn;

beforeAll(async () => {
  mock = await startAbiMockAgent();
});

afterAll(() => mock.close());

describe('a route whose ABI is behind a URL', () => {
  it('fetches it once for messages that arrive at the same time', async () => {
    let fetches = 0;
    const manifest = await serverOf((_request, response) => {
      fetches += 1;
      response.end(JSON.stringify({ name: 'greeter', abi }));
    });
    const greeter = abiClient({ functions: `${manifest.url}/agent.json` });
    const names = ['Ann', 'Bo', 'Cy'];
    const answers = await Promise.all(names.map((name) => greeter.sendMessage(mock.url, saying(name))));
    expect(answers.map(({ response }) => response)).toEqual(names.map((name) => `Hello, ${name}!`));
    expect((await greeter.sendMessage(mock.url, saying('Di'))).response).toBe('Hello, Di!');
    expect(fetches).toBe(1);
  });

  it.each<[string, RequestListener, string]>([
    ['gone', (_, response) => response.writeHead(404).end(), 'cannot be fetched: status 404.'],
    [
      'elsewhere',
      (_, response) => response.writeHead(302, { location: '/v2.json' }).end(),
      'cannot be fetched: status 302 (redirects are not followed; it points to /v2.json).',
    ],
    ['a web page', (_, response) => response.end('<html>'), 'is not JSON.'],
    [
      'no ABI',
      (_, response) => response.end('{}'),
      'contains no ABI: an array, or an object with one under "abi".',
    ],
    ['endless', (_, response) => void response.end(Buffer.alloc(2 ** 20 + 1, 32)), 'is larger than 1 MB.'],
    [
      'mistaken',
      (_, response) => response.end('["function f(uint7 a)", 3]'),
      "cannot be used: [0] 'uint7' is not an ABI type; [1] must be a signature or an entry of a JSON ABI.",
    ],
    [
      'without a function',
      (_, response) => response.end('[]'),
      'cannot be used: it must contain at least one function.',
    ],
  ])('reports what is wrong when it is %s', async (_name, listener, sentence) => {
    const { url } = await serverOf(listener);
    const error = await abiFailure(mock, 'x', { functions: url });
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toBe(`The ABI agent's manifest ${sentence}`);
  });

  it('reads a manifest that begins with a byte order mark', async () => {
    const { url } = await serverOf((_request, response) =>
      response.end(`\ufeff${JSON.stringify(abiFunctions)}`),
    );
    expect((await abiClient({ functions: url }).sendMessage(mock.url, saying('/add 2 40'))).response).toBe(
      '42',
    );
  });

  it('waits for it within the time limit of a call, and the message can be retried', async () => {
    const { url } = await serverOf(() => undefined);
    const error = await abiFailure(mock, 'x', { functions: url, timeoutMs: 200 });
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error.message).toBe("The ABI agent's manifest did not arrive in time.");
  });

  it('uses the last one while its server is unavailable or hangs, and the new one afterwards', async () => {
    const clock = new FakeClock();
    const manifests = new Manifests(clock, new AgentTransport());
    let answer: 'first' | 'second' | 'down' | 'silence' = 'first';
    let fetches = 0;
    const { url } = await serverOf((_request, response) => {
      fetches += 1;
      if (answer === 'silence') return;
      if (answer === 'down') response.writeHead(503).end();
      else response.end(JSON.stringify(answer === 'first' ? abi : abiFunctions));
    });
    const names = async () => {
      const entries = await manifests.entriesOf(url, new AbortController().signal);
      return entries.length;
    };
    expect(await names()).toBe(1);
    await clock.advanceMs(6 * MINUTE_MS);
    for (const state of ['down', 'silence'] as const) {
      answer = state;
      const before = fetches;
      for (let ask = 0; ask < 3; ask += 1) expect(await names()).toBe(1);
      // A manifest is not fetched again for a while.
      expect(fetches).toBe(before + 1);
      await clock.advanceMs(MINUTE_MS);
    }
    answer = 'second';
    expect(await names()).toBe(abiFunctions.length);
  });
});
