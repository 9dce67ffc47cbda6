import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProbe, checkAgent } from '../../router/src/infra/agents/abi/abi-kind.ts';
import { createAbi } from '../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { serverOf } from '../support/abi.ts';

let mock: AbiStandIn;

beforeAll(async () => {
  mock = await startAbiMockAgent();
});

afterAll(() => mock.close());

interface Answer {
  status: number;
  body?: Buffer;
}

type Spoiled = Answer | 'cut' | undefined;

/** Replaces a response of the mock agent: another response, a closed connection, or undefined for no change. */
type Spoil = (request: { path: string; body: Buffer }, answer: Answer) => Spoiled | Promise<Spoiled>;

/** Fails on concurrent calls. A call made before belongs to them and waits for the others. */
function oneAtATime(): Spoil {
  const known = new Set<string>();
  let arrived = 0;
  let begin: () => void = () => undefined;
  const together = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return async ({ body }, { status }) => {
    const call = body.toString('hex');
    if (status !== 200 || call === '' || !known.has(call)) {
      known.add(call);
      return undefined;
    }
    arrived += 1;
    if (arrived === 4) begin();
    await together;
    return { status: 503 };
  };
}

/** The mock agent behind a server that corrupts some responses. */
async function spoiled(spoil: Spoil): Promise<string> {
  const { url } = await serverOf(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const path = request.url ?? '';
    const init = request.method === 'POST' ? { method: 'POST', body } : {};
    const passed = await fetch(mock.url + path, init);
    const answer = { status: passed.status, body: Buffer.from(await passed.arrayBuffer()) };
    const given = (await spoil({ path, body }, answer)) ?? answer;
    if (given === 'cut') request.socket.destroy();
    else response.writeHead(given.status).end(given.body);
  });
  return url;
}

const isCall = (body: Buffer, selector: string) => body.toString('hex', 0, 4) === selector;
const greetFails = 'greet: broken ABI encoding is refused with 400';
const cases: Array<[string, Spoil, string[]]> = [
  [
    'no health',
    ({ path }) => (path === '/health' ? { status: 404 } : undefined),
    [
      'health: GET /health answers 200 with JSON',
      'health after all checks: GET /health answers 200 with JSON',
    ],
  ],
  [
    'a decoder that throws for unknown selectors',
    ({ body }, { status }) => (status === 400 && isCall(body, 'ffffffff') ? { status: 500 } : undefined),
    [
      'unknown selector is refused with 400',
      'body just below 10 MB is read: its unknown selector is refused with 400',
    ],
  ],
  [
    'no look at the length',
    ({ body }) => (body.length > 0 && body.length < 4 ? 'cut' : undefined),
    ['body of 3 bytes is refused with 400'],
  ],
  [
    'an empty body taken',
    ({ body, path }) => (path === '/' && body.length === 0 ? { status: 200 } : undefined),
    ['empty body is refused with 400'],
  ],
  [
    'a panic at broken arguments',
    ({ body }) => (isCall(body, 'ead710c4') && body.length < 36 ? 'cut' : undefined),
    [greetFails],
  ],
  [
    "a web framework's own limit of 100 kB",
    ({ body }) => (body.length > 100_000 ? { status: 413 } : undefined),
    ['body just below 10 MB is read: its unknown selector is refused with 400'],
  ],
  [
    'no limit at all',
    ({ body }) => (body.length > 10 * 1024 * 1024 ? { status: 200 } : undefined),
    ['body above 10 MB is refused'],
  ],
  [
    'outputs of another type',
    ({ body }, { status }) =>
      status === 200 && isCall(body, 'ead710c4') ? { status: 200, body: Buffer.alloc(32, 1) } : undefined,
    ["greet: a call answers 200 with the ABI's outputs"],
  ],
  ['one call at a time', oneAtATime(), ['20 concurrent calls get the same answer']],
];

describe('the check of an agent', () => {
  it.each(cases)('that has %s reports this defect only', async (_name, spoil, expected) => {
    const { isConforming, results } = await checkAgent(
      new AgentProbe(await spoiled(spoil), { timeoutMs: 30_000, transport: new AgentTransport() }),
      await createAbi(specificationFunctions),
    );
    const failed = results.filter(({ result }) => result === 'fail').map(({ check }) => check);
    expect(failed).toEqual(expected);
    expect(isConforming).toBe(false);
  });
});
