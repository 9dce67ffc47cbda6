import { beforeEach, describe, expect, it } from 'vitest';
import {
  AccountRegistry,
  ClusterAccounts,
  statusRequest,
} from '../../../../router/src/core/cluster/cluster-view.ts';
import { NodeCalls } from '../../../../router/src/core/cluster/node-bus.ts';
import type { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import { AlreadyLinkedError } from '../../../../router/src/core/errors.ts';
import type { AccountStatus, ChatProvider } from '../../../../router/src/core/ports/chat-provider.ts';
import type { AccountView, ClusterView } from '../../../../router/src/core/ports/cluster.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { nodeView } from '../../../support/node-view.ts';

const clock = new FakeClock();
const statusOf = (accountId: string, change: Partial<AccountStatus> = {}): AccountStatus => ({
  accountId,
  state: 'open',
  nextAction: 'Connected. Nothing to do.',
  sinceMs: 0,
  ...change,
});

let hub: MemoryNodeHub;

function node(nodeId: string) {
  const registry = new AccountRegistry();
  const bus = hub.connect(nodeId);
  let commands = 0;
  const accounts = new ClusterAccounts({
    registry,
    bus,
    cluster: { addAccount: async (accountId) => (accountId === 'new' ? 'added' : 'known') },
    calls: new NodeCalls({ bus, clock, newId: () => `${nodeId}-${++commands}` }),
    clock,
    storageTrouble: () => undefined,
    viewLifetimeMs: 10_000,
  });
  return { accounts, registry, bus };
}

class HeldProvider
  implements Pick<ChatProvider, 'accountId' | 'status' | 'pair' | 'logout' | 'unlink' | 'restart'>
{
  readonly calls: unknown[] = [];
  readonly accountId: string;
  current: AccountStatus;
  failure: Error | undefined;
  constructor(accountId: string) {
    this.accountId = accountId;
    this.current = statusOf(accountId);
  }
  status = () => this.current;
  pair = (by: unknown) => this.#called(['pair', by]);
  logout = () => this.#called(['logout']);
  unlink = () => this.#called(['unlink']);
  restart = () => this.#called(['restart']);
  async #called(call: unknown[]): Promise<AccountStatus> {
    this.calls.push(call);
    if (this.failure) throw this.failure;
    return this.current;
  }
}

function viewOf(owners: Record<string, string | undefined>): ClusterView {
  const accounts = Object.entries(owners).map(
    ([accountId, nodeId]): AccountView => ({
      accountId,
      record: { state: 'waiting', reason: 'The connection dropped.', phone: '34911' },
      changedAtMs: 1_000,
      ...(nodeId && { owner: { nodeId, epoch: 1n } }),
      availability: nodeId ? 'owned' : 'free',
    }),
  );
  return { nodes: [nodeView('n1'), nodeView('n2')], accounts };
}

let n1: ReturnType<typeof node>;
let n2: ReturnType<typeof node>;
let sales: HeldProvider;

beforeEach(() => {
  hub = new MemoryNodeHub();
  n1 = node('n1');
  n2 = node('n2');
  sales = new HeldProvider('sales');
  n2.registry.add({ provider: sales as unknown as ChatProvider, delivery: {} as ReplyDelivery });
  for (const { accounts } of [n1, n2]) accounts.onClusterView(viewOf({ sales: 'n2', nobody: undefined }));
});

describe('an account of another node', () => {
  it('is shown as its owner last reported it, with codes that the database does not contain', () => {
    sales.current = statusOf('sales', { state: 'pairing', qr: '2@abc' });
    n2.accounts.changed(sales.current);
    expect(n1.accounts.get('sales')).toMatchObject({ state: 'pairing', qr: '2@abc', node: 'n2' });
    expect(n1.accounts.list().map(({ accountId }) => accountId)).toEqual(['nobody', 'sales']);
  });

  it('is requested again while it is paired and its code is unknown', async () => {
    const paired = viewOf({ sales: 'n2' });
    for (const { record } of paired.accounts) record.state = 'pairing';
    n2.accounts.changed(statusOf('sales', { state: 'pairing' }));
    n1.accounts.onClusterView(paired);
    // Its node did not know of this one when the code came.
    sales.current = statusOf('sales', { state: 'pairing', qr: '2@abc' });
    await clock.advanceMs(3_000);
    n1.accounts.onClusterView(paired);
    expect(n1.accounts.get('sales')).toMatchObject({ state: 'pairing', qr: '2@abc' });
  });

  it('is requested by a node that just started', () => {
    n1.bus.publish(statusRequest());
    expect(n1.accounts.get('sales')).toMatchObject({ state: 'open', node: 'n2' });
  });

  it('is shown as stored without a report, and as moving without an owner', () => {
    expect(n1.accounts.get('sales')).toMatchObject({
      state: 'waiting',
      phone: '34911',
      node: 'n2',
      sinceMs: 1_000,
    });
    const free = n1.accounts.get('nobody');
    expect(free).toMatchObject({ state: 'starting' });
    expect(free?.node).toBeUndefined();
    expect(n1.accounts.get('unknown')).toBeUndefined();
  });

  it.each([
    ['nothing', () => undefined],
    ['something else since', () => n2.accounts.changed(statusOf('sales', { state: 'connecting' }))],
  ])('is requested when its owner has reported %s for a while', async (_name, report) => {
    report();
    hub.isMute = true;
    n2.accounts.changed(statusOf('sales'));
    hub.isMute = false;
    hub.published.length = 0;
    const look = () => n1.accounts.onClusterView(viewOf({ sales: 'n2' }));
    look();
    await clock.advanceMs(2_999);
    look();
    expect(hub.published).toEqual([]);
    await clock.advanceMs(1);
    look();
    expect(n1.accounts.get('sales')).toMatchObject({ state: 'open', node: 'n2' });
  });

  it('is not requested repeatedly while its owner reports the stored state', async () => {
    n2.accounts.changed(statusOf('sales', { state: 'waiting' }));
    hub.published.length = 0;
    for (let look = 0; look < 10; look++) {
      await clock.advanceMs(1_000);
      n1.accounts.onClusterView(viewOf({ sales: 'n2', nobody: undefined }));
      n2.accounts.onClusterView(viewOf({ sales: 'n2', nobody: undefined }));
    }
    expect(hub.published).toEqual([]);
  });

  it('is not shown by an old report after its owner changed', () => {
    n2.accounts.changed(statusOf('sales', { state: 'pairing', qr: '2@abc' }));
    n1.accounts.onClusterView(viewOf({ sales: 'n3' }));
    n1.accounts.onClusterView(viewOf({ sales: 'n2' }));
    expect(n1.accounts.get('sales')).toMatchObject({ state: 'waiting' });
  });

  it('is shown as stopped when the database did not respond for too long', async () => {
    await clock.advanceMs(10_001);
    expect(n1.accounts.get('sales')).toMatchObject({
      state: 'stopped',
      reason: expect.stringMatching(/database/),
    });
  });
});

describe('a number that WhatsApp does not say anything about', () => {
  it.each(['the owner of the account', 'another node'])(
    'is unknown to %s after five seconds',
    async (who) => {
      const numbers = { lookUp: () => new Promise<never>(() => {}) };
      n2.registry.add({ provider: sales as unknown as ChatProvider, delivery: {} as ReplyDelivery, numbers });
      n2.accounts.changed(statusOf('sales'));
      const { accounts } = who === 'another node' ? n1 : n2;
      const answers: unknown[] = [];
      void accounts.isOnWhatsApp('sales', '34911').then((answer) => answers.push(answer));
      await clock.advanceMs(4_999);
      expect(answers).toEqual([]);
      await clock.advanceMs(1);
      await settle();
      expect(answers).toEqual([undefined]);
    },
  );
});

describe('a command of an admin', () => {
  it('reaches the owner of the account and returns its response', async () => {
    const status = await n1.accounts.pair('sales', { method: 'code', phone: '34911222333' });
    expect(sales.calls).toEqual([['pair', { method: 'code', phone: '34911222333' }]]);
    expect(status).toMatchObject({ accountId: 'sales', node: 'n2' });
    await n1.accounts.restart('sales');
    await n2.accounts.logout('sales');
    await n1.accounts.unlink('sales');
    expect(sales.calls.slice(1)).toEqual([['restart'], ['logout'], ['unlink']]);
  });

  it('fails with the reason when the owner refuses', async () => {
    sales.failure = new AlreadyLinkedError('sales');
    await expect(n1.accounts.pair('sales', { method: 'qr' })).rejects.toMatchObject({
      code: 'ALREADY_LINKED',
      disposition: 'dead',
    });
    sales.failure = new Error('secret detail');
    await expect(n1.accounts.restart('sales')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.not.stringContaining('secret'),
    });
  });

  it('fails after a time-out when the owner does not respond, and at once without an owner', async () => {
    hub.isMute = true;
    const asked = n1.accounts.restart('sales');
    const refused = expect(asked).rejects.toMatchObject({ code: 'ACCOUNT_NOT_HELD', disposition: 'retry' });
    await settle();
    await clock.advanceMs(25_000);
    await refused;
    n1.accounts.onClusterView(viewOf({ nobody: undefined }));
    await expect(n1.accounts.restart('nobody')).rejects.toMatchObject({ code: 'ACCOUNT_NOT_HELD' });
    expect(await n1.accounts.restart('unknown')).toBeUndefined();
  });
});

it('a new account is shown at once on the node that added it', async () => {
  expect(await n1.accounts.create('new')).toBe('added');
  expect(n1.accounts.get('new')).toMatchObject({ state: 'starting' });
  expect(await n1.accounts.create('sales')).toBe('known');
});

describe.each([5, -5])('a clock that is set by %i hours', (hours) => {
  it('neither hides nor invents an unavailable database', async () => {
    const clock = new FakeClock();
    const bus = new MemoryNodeHub().connect('n1');
    const accounts = new ClusterAccounts({
      registry: new AccountRegistry(),
      bus,
      cluster: { addAccount: async () => 'known' },
      calls: new NodeCalls({ bus, clock, newId: () => 'id' }),
      clock,
      storageTrouble: () => undefined,
      viewLifetimeMs: 10_000,
    });
    accounts.onClusterView({
      nodes: [],
      accounts: [{ accountId: 'a', record: { state: 'open' }, changedAtMs: 0, availability: 'free' }],
    });
    clock.jumpMs(hours * 3_600_000);
    expect(accounts.get('a')?.state).toBe('starting');
    await clock.advanceMs(10_001);
    expect(accounts.get('a')).toMatchObject({ state: 'stopped', reason: expect.stringMatching(/database/) });
  });
});
