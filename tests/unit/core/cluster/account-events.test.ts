import { describe, expect, it } from 'vitest';
import { AccountEvents } from '../../../../router/src/core/cluster/account-events.ts';
import { AccountRegistry } from '../../../../router/src/core/cluster/cluster-view.ts';
import type { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import { LeaseLostError } from '../../../../router/src/core/errors.ts';
import type { AccountStatus, ChatProvider } from '../../../../router/src/core/ports/chat-provider.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryChatStore } from '../../../doubles/memory-chat-store.ts';
import { MemoryDrafts } from '../../../doubles/memory-drafts.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';
import { NO_CONDITIONS } from '../../../support/routes.ts';

function setup() {
  const state = new MemoryState();
  const calls: string[] = [];
  const changed: AccountStatus[] = [];
  let isHeld = true;
  const delivery = {
    acknowledged: (ids: string[]) => calls.push(`acknowledged ${ids}`),
    resume: async () => void calls.push('resume'),
    limitChanged: async () => void calls.push('limitChanged'),
    pollQueue: () => calls.push('pollQueue'),
  } as unknown as ReplyDelivery;
  const registry = new AccountRegistry();
  registry.add({ provider: { accountId: 'a' } as ChatProvider, delivery });
  const log = recordingLog();
  const clock = new FakeClock();
  const events = new AccountEvents({
    fence: {
      accountId: 'a',
      owner: 'n1',
      epoch: 1n,
      isHeld: () => isHeld,
      isTakeOver: false,
      verify: async () => undefined,
      lose: () => undefined,
    },
    inbox: new MemoryInbox(state),
    outbox: new MemoryOutbox(state),
    workers: {
      nodeForNextChat: () => 'n1',
      serve: (claim) => void calls.push(`serve ${claim.chatId}`),
      stopTurn: () => undefined,
    },
    routes: new MemoryRouteStore(),
    chatStore: new MemoryChatStore(state),
    sendNotice: async () => undefined,
    languages: NO_CONDITIONS.languages,
    drafts: new MemoryDrafts(state),
    deliverReplies: () => undefined,
    matcher: { test: async () => 'no-match' },
    conversation: async () => ({}),
    environment: 'lab',
    registry,
    accounts: { changed: (status) => void changed.push(status) },
    clock,
    log,
  });
  const status = (change: Partial<AccountStatus> = {}) =>
    events.status({ accountId: 'a', state: 'open', nextAction: '', sinceMs: 0, ...change });
  return {
    events,
    state,
    calls,
    changed,
    clock,
    log,
    status,
    lose: () => {
      isHeld = false;
    },
  };
}

describe('AccountEvents', () => {
  it('logs the state of the account, whose id the log line has already', async () => {
    const { status, log } = setup();
    await status({ state: 'waiting' });
    const [line] = log.lines.filter(({ message }) => message === 'account state');
    expect(line?.fields).toMatchObject({ state: 'waiting' });
    expect(line?.fields).not.toHaveProperty('accountId');
  });

  it('logs an account that cannot connect at the change, then once a minute', async () => {
    const { status, log, clock } = setup();
    const at = () => log.lines.flatMap(({ level, message }) => (message === 'account state' ? [level] : []));
    status();
    for (let attempt = 0; attempt < 18; attempt += 1) {
      status({ state: 'waiting', reason: 'No network.', retryAtMs: attempt });
      status({ state: 'waiting', reason: 'No network.' });
      await clock.advanceMs(10_000);
    }
    // Three minutes: the change, and after one and two minutes.
    expect(at().filter((level) => level === 'info')).toHaveLength(1 + 3);
    status({ state: 'waiting', reason: 'The certificate is wrong.' });
    status();
    expect(at().slice(-2)).toEqual(['info', 'info']);
  });

  it('stores a message and serves its chat', async () => {
    const { events, state, calls } = setup();
    await events.receive(aMessage('a', { phone: '5493777000001' }));
    expect(state.messages.size).toBe(1);
    expect(calls).toEqual(['serve 1']);
  });

  it('stores nothing when the lease of the account is lost', async () => {
    const { events, state, lose } = setup();
    lose();
    await expect(events.receive(aMessage('a', { phone: '5493777000001' }))).rejects.toThrow(LeaseLostError);
    expect(state.messages.size).toBe(0);
  });

  it('stores which chats the owner has locked, and nothing when the lease of the account is lost', async () => {
    const { events, state, lose } = setup();
    await events.receive(aMessage('a', { phone: '5493777000001' }));
    const chat = { kind: 'person' as const, phone: '5493777000001' };
    await events.chatLocked(chat, true);
    expect(state.chats.get(1)?.isLocked).toBe(true);
    lose();
    await expect(events.chatLocked(chat, false)).rejects.toThrow(LeaseLostError);
    expect(state.chats.get(1)?.isLocked).toBe(true);
  });

  it('resumes delivery when the connection opens, and polls the outbox with later changes', () => {
    const { status, calls, changed } = setup();
    status({ state: 'connecting' });
    status();
    status();
    status({ state: 'waiting' });
    status();
    expect(calls).toEqual(['resume', 'pollQueue', 'resume']);
    expect(changed).toHaveLength(5);
  });

  it('informs delivery when a limit starts or ends while connected', () => {
    const { status, calls } = setup();
    status();
    status({ state: 'restricted', isConnected: true, limitLeftMs: 1_000 });
    status({ state: 'restricted', isConnected: true, limitLeftMs: 500 });
    status();
    expect(calls).toEqual(['resume', 'limitChanged', 'pollQueue', 'limitChanged']);
  });

  it('reports acks of WhatsApp only to delivery', async () => {
    const { events, calls } = setup();
    await events.receipts([
      { waMessageId: 'A', state: 'acked', atMs: 1 },
      { waMessageId: 'B', state: 'read', atMs: 1 },
    ]);
    expect(calls).toEqual(['acknowledged A']);
  });

  it('logs a change of state at info, and the same state again at debug', () => {
    const { status, log } = setup();
    status({ state: 'pairing', qr: 'one' });
    status({ state: 'pairing', qr: 'two' });
    expect(log.lines.map(({ level }) => level)).toEqual(['info', 'debug']);
    expect(JSON.stringify(log.lines)).not.toContain('one');
  });
});
