import { describe, expect, it } from 'vitest';
import { abiKind } from '../../../../../router/src/infra/agents/abi/abi-kind.ts';
import type { AbiSettings } from '../../../../../router/src/infra/agents/abi/abi-settings.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type {
  Fetched,
  FetchOptions,
} from '../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { probeOf } from '../../../../support/agent-kinds.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const MANIFEST = 'http://host/abi.json';

function answer(status: number, body = ''): Fetched {
  return { kind: 'answer', status, headers: new Headers(), body: Buffer.from(body) };
}

function fault(reason: 'not-connected' | 'aborted'): Fetched {
  return { kind: 'fault', fault: reason, detail: { sentence: 'ECONNREFUSED' } };
}

/** A transport without a network: one answer to /health, one to the manifest. */
class ScriptedTransport extends AgentTransport {
  readonly requests: Array<{ url: string } & FetchOptions> = [];
  readonly #health: Fetched;
  readonly #manifest: Fetched;

  constructor(health: Fetched, manifest: Fetched) {
    super();
    this.#health = health;
    this.#manifest = manifest;
  }

  override async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    this.requests.push({ url, ...options });
    return url === MANIFEST ? this.#manifest : this.#health;
  }
}

async function findings(
  settings: Partial<AbiSettings>,
  { health = answer(200), manifest = answer(200, '["f()"]') }: { health?: Fetched; manifest?: Fetched } = {},
) {
  const transport = new ScriptedTransport(health, manifest);
  const found = await probeOf(abiKind)(
    'http://agent:8080/base?k=1',
    { functions: ['f()'], ...settings },
    { clock: new FakeClock(), transport, signal: new AbortController().signal },
  );
  return { found, requests: transport.requests };
}

describe('the probe of the endpoint', () => {
  it('asks for /health below the path, with the headers of the route, and for no manifest', async () => {
    const { found, requests } = await findings({ headers: { 'x-api-key': 'k' } });
    expect(found).toEqual([]);
    expect(requests.map(({ url }) => url)).toEqual(['http://agent:8080/base/health?k=1']);
    expect(requests[0]?.headers.get('x-api-key')).toBe('k');
  });

  it('names the origin only, and why nothing answers', async () => {
    const message =
      'The ABI agent at http://agent:8080 cannot be reached: ECONNREFUSED. Start it, or correct the address.';
    expect((await findings({}, { health: fault('not-connected') })).found).toEqual([
      {
        code: 'AGENT_UNREACHABLE',
        field: 'agentEndpoint',
        message,
        phrase: expect.objectContaining({ code: 'probe.unreachable' }),
      },
    ]);
  });

  it('names the headers when the agent refuses them', async () => {
    expect((await findings({}, { health: answer(403) })).found).toMatchObject([
      { code: 'AGENT_ACCESS_DENIED', field: 'config.abi.headers' },
    ]);
  });
});

describe('the probe of the manifest', () => {
  it('finds nothing when the settings fit it', async () => {
    expect((await findings({ functions: MANIFEST, function: 'f' })).found).toEqual([]);
  });

  it('names the field that does not fit', async () => {
    expect((await findings({ functions: MANIFEST, function: 'g' })).found).toEqual([
      {
        code: 'AGENT_MANIFEST',
        field: 'config.abi.function',
        message: "The settings do not fit the manifest: names 'g', which is not among the functions.",
        phrase: expect.objectContaining({ code: 'probe.not-fitting' }),
      },
    ]);
  });

  it('names the function that is broken', async () => {
    const manifest = answer(200, '["f(uint7 a)"]');
    expect((await findings({ functions: MANIFEST }, { manifest })).found).toMatchObject([
      { code: 'AGENT_MANIFEST', field: 'config.abi.functions[0]' },
    ]);
  });

  it('reports that it cannot be fetched, beside an agent that cannot be reached', async () => {
    const { found } = await findings(
      { functions: MANIFEST },
      { health: fault('not-connected'), manifest: answer(404) },
    );
    expect(found).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field: 'agentEndpoint' },
      {
        code: 'AGENT_MANIFEST',
        field: 'config.abi.functions',
        message: "The ABI agent's manifest cannot be fetched: status 404.",
      },
    ]);
  });
});
