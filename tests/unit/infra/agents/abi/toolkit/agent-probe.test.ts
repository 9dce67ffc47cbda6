import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../../router/src/core/errors.ts';
import { AgentProbe, answerText } from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type {
  Fetched,
  FetchOptions,
} from '../../../../../../router/src/infra/agents/transport/bounded-fetch.ts';

/** A transport without a network, which records its requests. */
class ScriptedTransport extends AgentTransport {
  readonly requests: Array<{ url: string } & FetchOptions> = [];
  readonly #answer: Fetched;

  constructor(answer: Fetched) {
    super();
    this.#answer = answer;
  }

  override async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    this.requests.push({ url, ...options });
    return this.#answer;
  }
}

function answer(status: number, body: string): Fetched {
  return { kind: 'answer', status, headers: new Headers(), body: Buffer.from(body) };
}

function setup(fetched: Fetched, envelope: 'raw' | 'json' = 'raw') {
  const transport = new ScriptedTransport(fetched);
  return {
    transport,
    probe: new AgentProbe('http://agent/base?k=1', { envelope, timeoutMs: 1_000, transport }),
  };
}

describe('AgentProbe', () => {
  it('posts calldata to the URL of the agent, in its envelope', async () => {
    const { transport, probe } = setup(answer(200, ''), 'json');
    await probe.call(Buffer.from('aabbccdd', 'hex'));
    const [request] = transport.requests;
    expect(request).toMatchObject({ url: 'http://agent/base?k=1', method: 'POST' });
    expect(request?.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(String(request?.body))).toMatchObject({ request: '0xaabbccdd' });
  });

  it('asks for /health below the path of the agent, without a body', async () => {
    const { transport, probe } = setup(answer(503, 'starting'));
    expect(await probe.health()).toMatchObject({ status: 503, body: Buffer.from('starting') });
    expect(transport.requests[0]).toMatchObject({ url: 'http://agent/base/health?k=1', method: 'GET' });
    expect(transport.requests[0]?.body).toBeUndefined();
  });

  it.each([
    ['aborted', 'no answer within 1000 ms'],
    ['not-connected', 'ECONNREFUSED'],
  ] as const)('reports the fault %s with status 0', async (reason, problem) => {
    const { probe } = setup({ kind: 'fault', fault: reason, detail: { sentence: 'ECONNREFUSED' } });
    const found = await probe.call(Buffer.alloc(4));
    expect(found).toMatchObject({ status: 0, fault: reason, problem });
    expect(found.body).toHaveLength(0);
  });

  it('detects the envelope by the refusal of an unknown selector in raw bytes', async () => {
    const json = setup(answer(400, '{"steps":[{"name":"error"}]}'), 'json');
    expect(await json.probe.detectEnvelope()).toBe('json');
    expect(Buffer.from(json.transport.requests[0]?.body as Uint8Array).toString('hex')).toBe('ffffffff');
    expect(await setup(answer(400, '{"error":"unknown selector"}')).probe.detectEnvelope()).toBe('raw');
    expect(
      await setup({ kind: 'fault', fault: 'broken', detail: { sentence: '' } }).probe.detectEnvelope(),
    ).toBe('raw');
  });

  it('returns the outputs as the envelope of the probe contains them', async () => {
    const body = '{"steps":[],"result":"0x0102"}';
    const { probe } = setup(answer(200, body), 'json');
    expect(probe.outputsOf(await probe.health())).toEqual(Buffer.from([1, 2]));
    const raw = setup(answer(200, body)).probe;
    expect(raw.outputsOf(await raw.health()).toString()).toBe(body);
    const empty = setup(answer(200, ''), 'json').probe;
    const found = await empty.health();
    expect(() => empty.outputsOf(found)).toThrow(AgentProtocolError);
  });
});

describe('answerText', () => {
  const text = (status: number, body: string) => answerText({ status, body: Buffer.from(body), ms: 1 });

  it('quotes a refusal on one line of printable characters, cut after 120', () => {
    expect(text(400, ' Unknown\r\n\u001b[31mselector ')).toBe('status 400: Unknown [31mselector');
    expect(text(500, 'x'.repeat(300))).toBe(`status 500: ${'x'.repeat(120)}`);
  });

  it('quotes nothing of a success or of an empty body', () => {
    expect(text(200, 'secret')).toBe('status 200');
    expect(text(404, ' \n')).toBe('status 404');
  });

  it('is the problem when there was no answer', () => {
    expect(answerText({ status: 0, body: Buffer.alloc(0), ms: 1, problem: 'ECONNREFUSED' })).toBe(
      'ECONNREFUSED',
    );
  });
});
