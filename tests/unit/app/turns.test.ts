import { expect, it, onTestFinished, vi } from 'vitest';
import { whatsApp } from '../../../router/src/app/provider.ts';
import { createTurns } from '../../../router/src/app/turns.ts';
import { loadConfig } from '../../../router/src/config/config.ts';
import { serviceSettingsOf } from '../../../router/src/config/live-settings.ts';
import type { AgentClient } from '../../../router/src/core/agent-client.ts';
import { ChatPlacement } from '../../../router/src/core/cluster/chat-placement.ts';
import { AgentUnavailableError, MediaError } from '../../../router/src/core/errors.ts';
import type { Route } from '../../../router/src/core/models.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { PostgresMessageFiles } from '../../../router/src/infra/db/stores/postgres-message-files.ts';
import { PostgresQuestions } from '../../../router/src/infra/db/stores/postgres-questions.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { RegexMatcher } from '../../../router/src/infra/matching/regex-matcher.ts';
import { aMessage } from '../../contracts/adapters.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryNodeHub } from '../../doubles/memory-node-hub.ts';
import { MemoryState } from '../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/quiet-log.ts';
import { aRoute } from '../../support/routes.ts';

const MEDIA = { kind: 'image', mimeType: 'image/png', reference: 'reference 1' } as const;

/** The part with an inbox in memory and one route, whose agent is `agent`. */
const proxyOf = (accountId: string) => ({ shownUrl: `http://${accountId}.proxy.test` });

function setup(agent: AgentClient, env: Record<string, string> = {}, failure?: Route['config']['failure']) {
  const clock = new FakeClock();
  vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms, signal) => clock.sleep(ms, signal));
  const config = loadConfig({ WA2AI_LOOP_TURNS: '0', WA2AI_ENVIRONMENT: 'lab', ...env }, false);
  const route = aRoute({ accountId: 'main', channelId: '*' });
  route.config.failure = failure;
  vi.spyOn(PostgresRouteStore.prototype, 'candidates').mockResolvedValue([route]);
  vi.spyOn(PostgresRouteStore.prototype, 'get').mockResolvedValue(route);
  vi.spyOn(PostgresQuestions.prototype, 'chats').mockResolvedValue([]);
  vi.spyOn(PostgresMessageFiles.prototype, 'load').mockResolvedValue(undefined);
  const saved = vi.spyOn(PostgresMessageFiles.prototype, 'save').mockResolvedValue();
  const state = new MemoryState();
  const inbox = new MemoryInbox(state);
  const hub = new MemoryNodeHub();
  const reloaded: string[] = [];
  const log = recordingLog();
  const part = createTurns(
    config,
    {
      postgres: {},
      nodeId: 'n1',
      bus: hub.connect('n1'),
      placement: new ChatPlacement('n1', clock),
      registry: {
        delivery: () => undefined,
        provider: () => ({
          setTyping: async () => undefined,
          markRead: async () => undefined,
          reloadMedia: async (reference: string) => {
            reloaded.push(reference);
            return 'reference 2';
          },
        }),
      },
      settingsStore: { get: async () => undefined },
      live: { current: serviceSettingsOf(undefined, config) },
      proxies: { of: async (accountId: string) => proxyOf(accountId) },
    } as unknown as Parameters<typeof createTurns>[1],
    {
      inbox: () => inbox,
      agents: () => ({ clientFor: () => agent, endpointOf: (route: Route) => route.agentEndpoint }),
    } as unknown as Parameters<typeof createTurns>[2],
    log,
  );
  onTestFinished(async () => {
    await part.parts.workers.stop(0);
    await part.stop();
  });
  /** Stores a message and starts its turn. @returns its row */
  const receive = async (given: Parameters<typeof aMessage>[2] = {}) => {
    const stored = await inbox.add(aMessage('main', { phone: '5493777000001' }, given), 'n1');
    if (!stored.worker) throw new Error('the chat was not claimed');
    part.parts.workers.serve(stored.worker, false);
    await settle();
    return state.messages.get(Number(stored.messageId));
  };
  return { part, config, clock, state, hub, log, reloaded, saved, receive };
}

it('answers a message, and leaves its reply to the node of the account', async () => {
  const { receive, state, hub } = setup({
    sendMessage: async (endpoint, { text }) => ({
      success: true,
      response: `${text} from port ${new URL(endpoint).port}`,
    }),
  });
  const message = await receive({ text: 'hello' });
  expect(message?.state).toBe('answered');
  const [reply] = state.outbox.values();
  expect(reply?.text).toBe('hello from port 8000');
  expect(reply?.waMessageId).toMatch(/^3EB0[0-9A-F]{18}$/);
  expect(hub.published.join()).toContain('replies-queued');
});

it('makes a new WhatsApp id for each message to send', () => {
  const { part } = setup({ sendMessage: () => Promise.reject(new Error('not called')) });
  const ids = Array.from({ length: 100 }, () => part.parts.mintId());
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^3EB0[0-9A-F]{18}$/);
});

it('waits at most ten seconds between two attempts, and as long as the agent says', async () => {
  const times: number[] = [];
  const { receive, clock } = setup(
    {
      sendMessage: async () => {
        times.push(clock.now());
        if (times.length === 13) return { success: true, response: 'back' };
        const retryAfterMs = times.length === 12 ? 30_000 : undefined;
        throw new AgentUnavailableError({ sentence: 'away' }, { retryAfterMs, isAway: true });
      },
    },
    { WA2AI_AGENT_TRY_FOR: '5m' },
  );
  await receive();
  await clock.advanceMs(10 * 60_000);
  expect(times).toHaveLength(13);
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(Math.max(...waits.slice(0, -1))).toBeLessThanOrEqual(10_000);
  expect(waits.at(-1)).toBeGreaterThanOrEqual(30_000);
});

it('logs when the circuit of an agent opens', async () => {
  const { receive, log } = setup(
    {
      sendMessage: async (_endpoint, _message, options) => {
        await options?.beforeRequest?.();
        throw new AgentUnavailableError({ sentence: 'away' });
      },
    },
    {},
    { tryForMs: 0, circuit: { failures: 2, openMs: 60_000 } },
  );
  const opened = () => log.lines.filter(({ message }) => message === 'circuit of an agent endpoint opened');
  await receive();
  expect(opened()).toEqual([]);
  await receive();
  expect(opened()).toMatchObject([{ level: 'warn', fields: { endpoint: 'http://127.0.0.1:8000' } }]);
});

it('loads and stores the file of a message, with a new reference when WhatsApp has deleted it', async () => {
  const loaded: Array<string | undefined> = [];
  const download = vi.spyOn(whatsApp, 'downloadMedia').mockImplementation(async (_config, reference) => {
    if (reference === MEDIA.reference)
      throw new MediaError('MEDIA_GONE', { sentence: 'WhatsApp has deleted it.' });
    return Buffer.from(`bytes of ${reference}`);
  });
  const { receive, reloaded, saved, config } = setup({
    sendMessage: async (_endpoint, _message, options) => {
      loaded.push(Buffer.from((await options?.loadMedia?.()) ?? '').toString());
      return { success: true, response: 'seen' };
    },
  });
  const message = await receive({ media: MEDIA, text: 'look' });
  expect(message?.state).toBe('answered');
  expect(loaded).toEqual(['bytes of reference 2']);
  expect(reloaded).toEqual([MEDIA.reference]);
  expect(
    download.mock.calls.map(([given, reference, by]) => [given === config, reference, by?.proxy]),
  ).toEqual([
    [true, 'reference 1', proxyOf('main')],
    [true, 'reference 2', proxyOf('main')],
  ]);
  expect(saved.mock.calls.map(([, bytes]) => Buffer.from(bytes).toString())).toEqual([
    'bytes of reference 2',
  ]);
});

it('closes the matcher of patterns when it stops', async () => {
  const close = vi.spyOn(RegexMatcher.prototype, 'close');
  const { part } = setup({ sendMessage: () => Promise.reject(new Error('not called')) });
  await part.start();
  expect(close).not.toHaveBeenCalled();
  await part.stop();
  expect(close).toHaveBeenCalledOnce();
});
