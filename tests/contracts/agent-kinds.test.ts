import { afterEach, describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../router/src/core/agent-client.ts';
import type { AgentExchange } from '../../router/src/core/agent-exchange.ts';
import type { Clock } from '../../router/src/core/clock.ts';
import {
  AgentProtocolError,
  AgentUnavailableError,
  StorageUnavailableError,
  Wa2aiError,
} from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { createAgentClients } from '../../router/src/infra/agents/agent-clients.ts';
import { agentKinds } from '../../router/src/infra/agents/agent-kinds.ts';
import type { AgentTools, Inspection, ToolInput } from '../../router/src/infra/agents/agent-tools.ts';
import { kindNamed, routeConfigField } from '../../router/src/infra/agents/route-config.ts';
import { RouteProbe } from '../../router/src/infra/agents/route-probe.ts';
import { maskedConfig } from '../../router/src/infra/agents/route-secrets.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../router/src/infra/agents/transport/egress.ts';
import { TransportRecorder } from '../../router/src/infra/agents/transport/exchange-mask.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { directMatcher } from '../doubles/direct-matcher.ts';
import { MISBEHAVIOURS, type Misbehaviour, type StandInServer } from '../doubles/stand-in-server.ts';
import { AGENT_KIND_SUBJECTS, SECRET } from '../support/agent-kind-subjects.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { quietLog } from '../support/quiet-log.ts';
import { aRoute } from '../support/routes.ts';

const PERSON = '5493777239922';
const message: IncomingMessage = {
  id: '3EB0CONTRACT',
  from: `${PERSON}@s.whatsapp.net`,
  channelId: PERSON,
  text: 'hello, how are you today?',
  timestamp: new Date(0),
};
/** Long enough for a busy machine, where the server answers. */
const PATIENT_MS = 30_000;
/** Of a server that never answers, by a clock of the test. */
const SHORT_MS = 250;

let server: StandInServer;
const opened = new Set<StandInServer>();
afterEach(async () => {
  for (const each of opened) await each.close();
  opened.clear();
});

const deps = (transport: AgentTransport, clock: Clock = holdingClock) => ({
  defaultTimeoutMs: () => PATIENT_MS,
  matcher: directMatcher,
  log: quietLog,
  clock,
  transport,
  // An agent that runs already, without a token.
  hosting: {
    use: <T>(_: unknown, work: (running: { url: string; token: string }) => Promise<T>) =>
      work({ url: server.url, token: '' }),
    stop: async () => undefined,
  },
});

/** What each misbehaviour ends in: codes of the error. */
const ENDS: Record<Exclude<Misbehaviour, 'slow' | 'hang'>, RegExp> = {
  '500': /^AGENT_(?:PROTOCOL|UNAVAILABLE)$/,
  'wrong-json': /^AGENT_PROTOCOL$/,
  cut: /^AGENT_(?:TIMEOUT|UNAVAILABLE)$/,
  'gzip-bomb': /^AGENT_PROTOCOL$/,
  '100-mb': /^AGENT_PROTOCOL$/,
  redirect: /^AGENT_PROTOCOL$/,
  quote: /^AGENT_PROTOCOL$/,
};

// The echo agent has no server that could misbehave.
it('every agent kind with a server is under the contract', () => {
  const names = AGENT_KIND_SUBJECTS.map(({ name }) => name);
  expect([...names, 'echo'].sort()).toEqual(agentKinds.map(({ name }) => name).sort());
});

describe.each(AGENT_KIND_SUBJECTS)('agent kind $name', ({ name, settings, start, options = {} }) => {
  const kind = kindNamed(agentKinds, name);
  if (!kind) throw new Error(`there is no agent kind ${name}`);

  async function setup(
    how?: Misbehaviour,
    more: { timeoutMs?: number; transport?: AgentTransport; clock?: Clock } = {},
  ) {
    server = await start();
    opened.add(server);
    server.misbehaviour = how;
    const { timeoutMs = PATIENT_MS, transport = new AgentTransport(), clock } = more;
    const agent = { kind: name, settings: { ...settings, timeoutMs } };
    const route = aRoute({ agentEndpoint: server.url, config: { agent } });
    const client = createAgentClients(deps(transport, clock)).clientFor(route);
    const send = (attempt: AttemptOptions = {}) =>
      client.sendMessage(server.url, message, { replyToken: async () => 'a-reply-token', ...attempt });
    const failing = () => send().catch((error: unknown) => error as Wa2aiError);
    return { client, send, failing, route };
  }

  it('accepts its settings, and masks its secrets', () => {
    const parsed = kind.settings.safeParse(settings);
    expect(parsed.error).toBeUndefined();
    const shown = JSON.stringify(maskedConfig(agentKinds, { agent: { kind: name, settings } }));
    expect(shown).toContain('***');
    expect(shown).not.toContain(SECRET);
    expect(kind.settings.safeParse({ ...settings, unknownField: 1 }).success).toBe(false);
  });

  it('answers a message, and counts the attempt before the request', async () => {
    const { send } = await setup();
    let counted = 0;
    const answer = await send({
      beforeRequest: async () => {
        counted += 1;
      },
    });
    expect(answer.success).toBe(true);
    expect(answer.response).toContain('hello, how are you today?');
    expect(counted).toBe(1);
  });

  it('has its exchanges recorded, without secrets', async () => {
    const recorder = new TransportRecorder({ now: () => 0 });
    const { send } = await setup(undefined, { transport: new AgentTransport(new Egress(), recorder) });
    const exchanges: AgentExchange[] = [];
    const answer = await recorder.during(
      (exchange) => exchanges.push(exchange),
      () => send(),
    );
    expect(answer.success).toBe(true);
    // An ABI agent gets the text as call data, and answers so.
    const has = (body = '', text: string) =>
      body.includes(text) || body.includes(Buffer.from(text).toString('hex'));
    const asked = exchanges.find(({ request }) => has(request.body, 'hello, how are you today?'));
    expect(asked).toMatchObject({ request: { method: 'POST' }, response: { status: 200 } });
    expect(exchanges.some(({ response }) => has(response?.body, 'hello'))).toBe(true);
    const shown = JSON.stringify(exchanges);
    for (const secret of [SECRET, 'a-reply-token']) expect(shown).not.toContain(secret);
  });

  it('waits for a slow agent', async () => {
    const { send } = await setup('slow');
    const asked = send();
    // Clients may ask for something else first.
    await until(() => server.requests.some(({ method }) => method === 'POST'));
    await server.release();
    expect((await asked).response).toContain('hello');
  });

  it('ends an attempt when the agent never answers', async () => {
    const clock = new FakeClock();
    const { failing } = await setup('hang', { timeoutMs: SHORT_MS, clock });
    const failed = failing();
    await until(() => server.requests.some(({ method }) => method === 'POST'));
    await clock.advanceMs(PATIENT_MS);
    const error = await failed;
    expect(error).toBeInstanceOf(Wa2aiError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^AGENT_(?:TIMEOUT|UNAVAILABLE)$/) });
    expect((error as Wa2aiError).message).toMatch(new RegExp(`${SHORT_MS} ?ms`));
  });

  it.each(Object.entries(ENDS) as Array<[keyof typeof ENDS, RegExp]>)(
    'fails with a sentence, without markup and secrets, for %s',
    async (how, code) => {
      const { failing } = await setup(how);
      const error = (await failing()) as Wa2aiError;
      expect(error).toBeInstanceOf(Wa2aiError);
      expect(error.code, error.message).toMatch(code);
      expect(error.message).not.toMatch(/[<>]|\n| {4}at /);
      for (const hidden of [SECRET, PERSON, message.text]) expect(error.message).not.toContain(hidden);
      expect(error.message.length).toBeLessThan(1_000);
      if (code.source.includes('PROTOCOL$')) expect(error.disposition).not.toBe('uncertain');
      expect(server.followed).toBe(0);
    },
  );

  it('stops reading an endless answer', async () => {
    const { failing } = await setup('100-mb');
    expect((await failing()) as Wa2aiError).toBeInstanceOf(AgentProtocolError);
    expect(server.sentBytes).toBeLessThan(100 * 1024 * 1024);
  });

  it('is unavailable where nothing listens', async () => {
    const { failing } = await setup();
    await server.close();
    opened.delete(server);
    const error = await failing();
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error).toMatchObject({ isAway: true, disposition: 'retry' });
  });

  // wa2ai itself starts hosted agents, at an address of this machine.
  if (name === 'hosted') {
    it('answers at its own address, which the egress policy refuses to others', async () => {
      const { send } = await setup(undefined, { transport: new AgentTransport(new Egress('public')) });
      expect((await send()).response).toContain('hello, how are you today?');
    });
  } else {
    it('sends nothing to an address that the egress policy refuses', async () => {
      const { failing } = await setup(undefined, { transport: new AgentTransport(new Egress('public')) });
      expect(await failing()).toMatchObject({ code: 'AGENT_ADDRESS_REFUSED', disposition: 'dead' });
      expect(server.requests).toEqual([]);
    });
  }

  it('sends nothing when the attempt cannot be counted', async () => {
    const { send } = await setup();
    const beforeRequest = () => Promise.reject(new StorageUnavailableError({ sentence: 'gone' }));
    await expect(send({ beforeRequest })).rejects.toThrow('gone');
    expect(server.requests.filter(({ body }) => body.includes('hello'))).toEqual([]);
  });

  it("ends with the caller's reason when the caller ends the attempt", async () => {
    const { send } = await setup('hang');
    const stopped = new AbortController();
    const asked = expect(send({ signal: stopped.signal })).rejects.toThrow('the service stops');
    await until(() => server.requests.some(({ method }) => method === 'POST'));
    stopped.abort(new Error('the service stops'));
    await asked;
  });

  it('shows no secret in the preview of a request', async () => {
    const { client } = await setup();
    const shown = JSON.stringify((await client.preview?.(message, server.url)) ?? {});
    expect(shown).not.toContain(SECRET);
    expect(server.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  // wa2ai runs the agent: there is no address to probe or to inspect.
  if (kind.hasNoEndpoint?.(settings)) {
    it('names what its requests go to, for the circuit, without an address', async () => {
      const { route } = await setup();
      const endpointOf = (change: object) =>
        createAgentClients(deps(new AgentTransport())).endpointOf({
          ...route,
          config: { agent: { kind: name, settings: { ...settings, ...change } } },
        });
      expect(endpointOf({})).toMatch(new RegExp(`^${name}:`));
      expect(endpointOf({ image: 'another:1' })).not.toBe(endpointOf({}));
    });

    it('can be neither probed nor inspected by an address', () => {
      expect([kind.probe, kind.tools]).toEqual([undefined, undefined]);
    });
    return;
  }

  it('names the endpoint of its requests, for the circuit', async () => {
    const { route } = await setup();
    const endpoint = createAgentClients(deps(new AgentTransport())).endpointOf(route);
    expect(new URL(endpoint).origin).toBe(server.url);
  });

  it('has no findings about a route that works, and one where nothing listens', async () => {
    await setup();
    const probe = (signal = new AbortController().signal) =>
      kind.probe?.(server.url, settings, { clock: holdingClock, transport: new AgentTransport(), signal });
    expect(await probe()).toEqual([]);
    await server.close();
    opened.delete(server);
    expect(await probe()).toMatchObject([{ code: 'AGENT_UNREACHABLE' }]);
  });

  it('tells what it says about itself, where the kind asks for it, and nothing when nothing listens', async () => {
    const { route } = await setup();
    const probe = new RouteProbe({ clock: holdingClock, transport: new AgentTransport() });
    const about = async () => (await probe.test(route)).about;
    const asks = ['adk', 'npc', 'a2a', 'openai'].includes(name);
    const said = await about();
    expect(said !== undefined).toBe(asks);
    if (asks) expect(said?.capabilities).not.toEqual([]);
    await server.close();
    opened.delete(server);
    expect(await about()).toBeUndefined();
  });

  describe('on the command line', () => {
    const inputOf = (given = {}): ToolInput => ({
      url: server.url,
      options: given,
      timeoutMs: PATIENT_MS,
      transport: new AgentTransport(),
      clock: holdingClock,
    });
    const tools = kind.tools as AgentTools;

    it('is the first kind that recognizes its agent, by harmless requests', async () => {
      await setup();
      const found = await Promise.all(
        agentKinds.map(async (each) => ((await each.tools?.detect(inputOf())) ? [each.name] : [])),
      );
      expect(found.flat()[0]).toBe(name);
      for (const { body } of server.requests) expect(body).not.toContain('hello');
    });

    it('recognizes nothing where nothing listens', async () => {
      await setup();
      await server.close();
      opened.delete(server);
      expect(await tools.detect(inputOf())).toBe(false);
    });

    it('inspects its agent: kind, latency, and a body of a route that the API accepts with the key', async () => {
      await setup();
      const { report, text, isGood } = await tools.inspect.run(inputOf(options));
      const inspection = report as Inspection;
      expect(isGood).toBe(true);
      expect(inspection).toMatchObject({
        kind: name,
        url: server.url,
        isReachable: true,
        latencyMs: expect.any(Number),
        answer: expect.any(String),
        capabilities: expect.any(Array),
      });
      expect(text).toMatch(new RegExp(`^${server.url}\nkind +${name}\n`));
      const { channelId, agentEndpoint, config } = inspection.route ?? {};
      expect(channelId === '*').toBe(!kind.isForOneChat);
      expect(agentEndpoint).toBe(server.url);
      // A key is not shown: the operator writes it in place of `<...>`.
      const filled = JSON.parse(JSON.stringify(config).replace(/<the [^>]+>/, SECRET));
      expect(routeConfigField(agentKinds).safeParse(filled).error).toBeUndefined();
    });
  });
});

it('lists every misbehaviour', () => {
  expect([...Object.keys(ENDS), 'slow', 'hang'].sort()).toEqual([...MISBEHAVIOURS].sort());
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await server.nextRequest();
}
