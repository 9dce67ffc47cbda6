import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAccounts } from '../../../router/src/app/accounts.ts';
import { whatsApp } from '../../../router/src/app/provider.ts';
import { loadConfig } from '../../../router/src/config/config.ts';
import { AccountRegistry } from '../../../router/src/core/cluster/cluster-view.ts';
import { NodeBus, type NodeMessage } from '../../../router/src/core/cluster/node-bus.ts';
import { ReplyDelivery } from '../../../router/src/core/delivery/deliver-reply.ts';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import type {
  AccountStatus,
  ChatProvider,
  ProviderEvents,
} from '../../../router/src/core/ports/chat-provider.ts';
import type { ClusterView } from '../../../router/src/core/ports/cluster.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { nodeView } from '../../support/node-view.ts';
import { recordingLog } from '../../support/quiet-log.ts';

type AccountsDeps = Parameters<typeof createAccounts>[0];

const VIEW: ClusterView = {
  nodes: [nodeView('n1')],
  accounts: [{ accountId: 'main', record: { state: 'open' }, changedAtMs: 0, availability: 'free' }],
};

/** The part on a fake clock, with one free account; `calls` is what it did, in order. */
function setup(options: { hasOthers?: boolean; failStart?: boolean } = {}) {
  const clock = new FakeClock();
  vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms, signal) => clock.sleep(ms, signal));
  const calls: string[] = [];
  vi.spyOn(ReplyDelivery.prototype, 'pollQueue').mockImplementation(() => void calls.push('poll'));
  vi.spyOn(ReplyDelivery.prototype, 'resendUnacknowledged').mockImplementation(async () => {
    calls.push('resend');
  });
  vi.spyOn(ReplyDelivery.prototype, 'resume').mockResolvedValue();
  vi.spyOn(ReplyDelivery.prototype, 'finish').mockImplementation(async () => void calls.push('replies sent'));
  let events: ProviderEvents | undefined;
  vi.spyOn(whatsApp, 'create').mockImplementation((deps) => {
    events = deps.events;
    return {
      accountId: deps.fence.accountId,
      start: async () => {
        if (options.failStart)
          throw new StorageUnavailableError({ sentence: 'The database is not reachable.' });
        calls.push('connected');
      },
      stop: async () => void calls.push('disconnected'),
    } as unknown as ChatProvider;
  });
  const published: NodeMessage['kind'][] = [];
  let connectionBack = () => {};
  const bus = new NodeBus('n1', ({ onBack }) => {
    connectionBack = onBack;
    return {
      publish: (payload) => void published.push((payload as { message: NodeMessage }).message.kind),
      upForMs: 60_000,
    };
  });
  const registry = new AccountRegistry();
  const log = recordingLog();
  const list = vi.fn(async (): Promise<unknown[]> => []);
  const accounts = createAccounts({
    config: loadConfig({ WA2AI_ACCOUNT_ID: 'main' }, false),
    postgres: {
      query: async () => [{ epoch: 1n }],
      execute: async () => void calls.push('lease released'),
    },
    nodeId: 'n1',
    bus,
    cluster: {
      join: (url: string) => void calls.push(`joined as ${url}`),
      addAccount: async (accountId: string) => void calls.push(`added ${accountId}`),
      beat: async () => VIEW,
    },
    placement: { hasOthers: options.hasOthers ?? false },
    registry,
    accounts: { view: VIEW, onClusterView: () => undefined, changed: () => undefined },
    workers: {
      turns: 0,
      onClusterView: () => undefined,
      start: async () => void calls.push('workers started'),
      stop: async () => {
        calls.push('workers stopping');
        await settle();
        calls.push('workers stopped');
      },
      release: async () => void calls.push('chats released'),
    },
    routes: { list },
    metrics: { observeSent: () => undefined },
    liveFeed: { noteStatus: () => undefined, onClusterView: () => undefined },
    faults: {
      inbox: (inner: unknown) => inner,
      provider: (inner: unknown) => inner,
    },
    storage: {},
    url: 'http://127.0.0.1:3000',
    log,
  } as unknown as AccountsDeps);
  const start = async () => {
    await accounts.start();
    onTestFinished(() => accounts.stop());
    await settle();
  };
  const status = async (change: Partial<AccountStatus>) => {
    events?.status({ accountId: 'main', state: 'open', nextAction: '', sinceMs: 0, ...change });
    await settle();
  };
  const hints = () =>
    log.lines.filter(({ message }) => message === 'no route exists, so no message is answered');
  const held = () => accounts.parts.leases.owned();
  return {
    accounts,
    start,
    status,
    hints,
    held,
    clock,
    calls,
    published,
    registry,
    list,
    log,
    bus,
    back: () => connectionBack(),
  };
}

describe('createAccounts, started', () => {
  it('joins the nodes, adds its account, starts the workers, then connects', async () => {
    const { start, calls, held } = setup();
    await start();
    expect(calls.slice(0, 4)).toEqual([
      'joined as http://127.0.0.1:3000',
      'added main',
      'workers started',
      'connected',
    ]);
    expect([...held().keys()]).toEqual(['main']);
  });

  it('sends the other nodes what changed, and polls the outbox', async () => {
    const { start, calls, published } = setup();
    await start();
    expect(published).toEqual(['accounts-changed', 'status-request']);
    expect(calls.slice(-2)).toEqual(['poll', 'resend']);
  });

  it('does the same when the connection between the nodes is back', async () => {
    const { start, back, calls, published } = setup();
    await start();
    const before = { calls: calls.length, published: published.length };
    back();
    expect(published.slice(before.published)).toEqual(['accounts-changed', 'status-request']);
    expect(calls.slice(before.calls)).toEqual(['poll', 'resend']);
  });

  it('polls the outbox every 5 seconds', async () => {
    const { start, clock, calls } = setup();
    await start();
    const polls = () => calls.filter((call) => call === 'poll').length;
    expect(polls()).toBe(1);
    await clock.advanceMs(4_999);
    expect(polls()).toBe(1);
    await clock.advanceMs(10_001);
    expect(polls()).toBe(4);
  });

  it('keeps no account whose connection did not start', async () => {
    const { start, registry, held, log, calls } = setup({ failStart: true });
    await start();
    expect(held().size).toBe(0);
    expect(registry.deliveries()).toEqual([]);
    expect(calls).toContain('lease released');
    expect(log.lines.map(({ message }) => message)).toContain('cannot connect account, retrying');
  });
});

describe('createAccounts, untilSettled', () => {
  it('resolves when the account is connected', async () => {
    const { accounts, start, status } = setup();
    await start();
    let isSettled = false;
    const settled = accounts.parts.untilSettled().then(() => {
      isSettled = true;
    });
    await status({ state: 'connecting' });
    expect(isSettled).toBe(false);
    await status({});
    await settled;
  });

  it('resolves after a second while WhatsApp does not answer', async () => {
    const { accounts, start, status, clock } = setup();
    await start();
    await status({ state: 'connecting' });
    const settled = accounts.parts.untilSettled();
    await clock.advanceMs(1_000);
    await settled;
  });

  it('resolves at once without an account of this node', async () => {
    const { accounts, start } = setup({ failStart: true });
    await start();
    await accounts.parts.untilSettled();
  });
});

describe('createAccounts, for an account without a route', () => {
  it('logs once, when the account is open, how to add one', async () => {
    const { start, status, hints } = setup();
    await start();
    await status({ state: 'connecting' });
    expect(hints()).toEqual([]);
    await status({});
    await status({ problems: ['a key'] });
    expect(hints()).toHaveLength(1);
    expect(hints()[0]).toMatchObject({ level: 'warn', fields: { accountId: 'main' } });
    expect(hints()[0]?.fields.command).toContain('curl -X POST http://127.0.0.1:3000/api/routes');
  });

  it('logs it with a later status when the routes could not be read at first', async () => {
    const { start, status, hints, list } = setup();
    list.mockRejectedValueOnce(new StorageUnavailableError({ sentence: 'The database is not reachable.' }));
    await start();
    await status({});
    expect(hints()).toEqual([]);
    await status({});
    expect(hints()).toHaveLength(1);
  });

  it('logs nothing when there is a route', async () => {
    const { start, status, hints, list } = setup();
    list.mockResolvedValue([{ id: 'r1' }]);
    await start();
    await status({});
    expect(hints()).toEqual([]);
    expect(list).toHaveBeenCalledExactlyOnceWith({ accountId: 'main' });
  });
});

describe('createAccounts, stopped', () => {
  const stopped = async (options: { hasOthers: boolean }) => {
    const parts = setup(options);
    await parts.start();
    const before = parts.calls.length;
    await parts.accounts.stop();
    return { ...parts, calls: () => parts.calls.slice(before) };
  };

  it('lets the turns end and sends their replies before it disconnects, when it is the only node', async () => {
    const { calls, held } = await stopped({ hasOthers: false });
    expect(calls()).toEqual([
      'workers stopping',
      'workers stopped',
      'replies sent',
      'disconnected',
      'lease released',
      'chats released',
    ]);
    expect(held().size).toBe(0);
  });

  it('releases the accounts while its turns end, when other nodes can take them', async () => {
    const { calls } = await stopped({ hasOthers: true });
    expect(calls()).toEqual([
      'replies sent',
      'workers stopping',
      'disconnected',
      'lease released',
      'workers stopped',
      'chats released',
    ]);
  });

  it('polls the outbox no more', async () => {
    const { calls, clock } = await stopped({ hasOthers: false });
    await clock.advanceMs(60_000);
    expect(calls()).not.toContain('poll');
  });
});
