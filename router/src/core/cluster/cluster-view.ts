import { z } from 'zod';
import { type Clock, within } from '../clock.ts';
import type { ReplyDelivery } from '../delivery/deliver-reply.ts';
import type { NumberLookUps } from '../delivery/govern-contacts.ts';
import { AccountNotHeldError, PasskeyNotAskedError } from '../errors.ts';
import { because, PHRASES, saidBy } from '../phrases.ts';
import type { AccountStatus, ChatProvider, PasskeyInput } from '../ports/chat-provider.ts';
import type {
  AccountControl,
  AccountView,
  Cluster,
  ClusterView,
  NewAccount,
  PairBy,
} from '../ports/cluster.ts';
import { nextActionOf } from './account-state.ts';
import { type NodeBus, type NodeCalls, nodeMessage } from './node-bus.ts';

/** Accounts or nodes changed: check immediately. */
export const accountsChanged = nodeMessage('accounts-changed');

/** The status of an account. */
export const accountStatus = nodeMessage('status', {
  status: z.custom<AccountStatus>(
    (value) => typeof value === 'object' && value !== null && 'accountId' in value && 'state' in value,
  ),
});

/** A node that started asks for the status of all accounts. */
export const statusRequest = nodeMessage('status-request');

interface ClusterAccountsDeps {
  /** The accounts that this node runs. */
  registry: AccountRegistry;
  bus: NodeBus;
  cluster: Pick<Cluster, 'addAccount'>;
  calls: NodeCalls;
  clock: Clock;
  /** Why the database cannot be used, if known; a sentence. */
  storageTrouble(): string | undefined;
  /** A view of the other nodes that is older than this is not used: the database does not answer. */
  viewLifetimeMs: number;
}

/** A command of an admin for an account. */
const command = z.object({
  accountId: z.string(),
  action: z.enum(['pair', 'usePasskey', 'logout', 'unlink', 'restart']),
  by: z
    .union([
      z.object({ method: z.literal('qr') }),
      z.object({ method: z.literal('code'), phone: z.string() }),
    ])
    .optional(),
  passkey: z.union([z.object({ answer: z.string() }), z.object({ isSameCode: z.boolean() })]).optional(),
});
type Command = z.infer<typeof command>;

const numberQuestion = z.object({ accountId: z.string(), phone: z.string() });
type NumberQuestion = z.infer<typeof numberQuestion>;

/** A caller waits so long for WhatsApp's answer about a number. */
const NUMBER_WAIT_MS = 5_000;
/** A little longer than WhatsApp needs for a pairing code. */
const RESULT_WAIT_MS = 25_000;

/**
 * When the published status of an account is missing or differs from the stored one for this long, a message was lost:
 * the status is requested.
 */
const DOUBT_MS = 3_000;

/**
 * All accounts of the database on whichever node: the status of own accounts directly, of others as their nodes publish
 * it. A command for an account is sent to the node that runs it.
 */
export class ClusterAccounts implements AccountControl {
  readonly #deps: ClusterAccountsDeps;
  readonly #published = new Map<string, { from: string; status: AccountStatus }>();
  #view: ClusterView = { nodes: [], accounts: [] };
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #doubtSinceMs: number | undefined;

  constructor(deps: ClusterAccountsDeps) {
    this.#deps = deps;
    const { bus, registry } = deps;
    bus.on(accountStatus, ({ status }, from) => this.#published.set(status.accountId, { from, status }));
    bus.on(statusRequest, () => {
      for (const status of registry.list()) bus.publish(accountStatus({ status }));
    });
    deps.calls.serve('account', (args) => this.#run(command.parse(args)));
    deps.calls.serve('number', (args) => this.#askAbout(numberQuestion.parse(args)));
  }

  /** The latest view of nodes and accounts. */
  get view(): ClusterView {
    return this.#view;
  }

  /** Takes a fresh view of nodes and accounts. */
  onClusterView(view: ClusterView): void {
    this.#view = view;
    this.#seenAtMs = this.#deps.clock.monotonicMs();
    const owners = new Map(view.accounts.map(({ accountId, owner }) => [accountId, owner?.nodeId]));
    for (const [accountId, { from }] of this.#published) {
      if (owners.get(accountId) !== from) this.#published.delete(accountId);
    }
    this.#doubtSinceMs = this.#isInDoubt() ? (this.#doubtSinceMs ?? this.#seenAtMs) : undefined;
    if (this.#doubtSinceMs === undefined || this.#seenAtMs - this.#doubtSinceMs < DOUBT_MS) return;
    this.#doubtSinceMs = this.#seenAtMs;
    this.#deps.bus.publish(statusRequest());
  }

  /** The status of an account of this node changed: other nodes show it too. */
  changed(status: AccountStatus): void {
    if (this.#hasOthers()) this.#deps.bus.publish(accountStatus({ status }));
  }

  list(): AccountStatus[] {
    const ids = new Set(
      [...this.#view.accounts, ...this.#deps.registry.list()].map((each) => each.accountId),
    );
    return [...ids].sort().flatMap((accountId) => this.get(accountId) ?? []);
  }

  get(accountId: string): AccountStatus | undefined {
    const { registry, bus } = this.#deps;
    const own = registry.get(accountId);
    if (own) return { ...own, node: bus.nodeId };
    const account = this.#view.accounts.find((each) => each.accountId === accountId);
    if (!account) return undefined;
    const node = account.availability === 'owned' ? account.owner?.nodeId : undefined;
    const published = this.#published.get(accountId);
    if (published && published.from === node && !this.#isBlind()) return { ...published.status, node };
    return this.#statusOf(account, node);
  }

  async create(accountId: string, as: NewAccount = {}): Promise<'added' | 'known'> {
    const outcome = await this.#deps.cluster.addAccount(accountId, as);
    const account: AccountView = {
      accountId,
      ...(as.provider && { provider: as.provider }),
      record: { state: 'starting' },
      changedAtMs: this.#deps.clock.now(),
      availability: 'free',
    };
    // Known here from now on, without waiting for the next view.
    if (outcome === 'added') {
      this.#view = { ...this.#view, accounts: [...this.#view.accounts, account] };
      this.#deps.bus.broadcast(accountsChanged());
    }
    return outcome;
  }

  /** Drops a deleted account from the view, and makes every node check immediately: the one that runs it disconnects it. */
  forget(accountId: string): void {
    this.#published.delete(accountId);
    const accounts = this.#view.accounts.filter((account) => account.accountId !== accountId);
    this.#view = { ...this.#view, accounts };
    this.#deps.bus.broadcast(accountsChanged());
  }

  pair(accountId: string, by: PairBy): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'pair', by });
  }

  usePasskey(accountId: string, passkey: PasskeyInput): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'usePasskey', passkey });
  }

  logout(accountId: string): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'logout' });
  }

  unlink(accountId: string): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'unlink' });
  }

  restart(accountId: string): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'restart' });
  }

  async isOnWhatsApp(accountId: string, phone: string): Promise<boolean | undefined> {
    const { registry, calls } = this.#deps;
    const question = { accountId, phone };
    if (registry.numbers(accountId)) return this.#askAbout(question);
    const node = this.get(accountId)?.node;
    const result =
      node === undefined ? undefined : await calls.call(node, 'number', question, NUMBER_WAIT_MS);
    return typeof result?.value === 'boolean' ? result.value : undefined;
  }

  async #askAbout({ accountId, phone }: NumberQuestion): Promise<boolean | undefined> {
    const { registry, clock } = this.#deps;
    const asked = registry.numbers(accountId)?.lookUp(phone);
    const found = asked && (await within(clock, NUMBER_WAIT_MS, asked));
    return found?.kind === 'known' ? found.isOnWhatsApp : undefined;
  }

  /** The status of an account whose node published none: the stored status, as far as it can still be true. */
  #statusOf(account: AccountView, node: string | undefined): AccountStatus {
    const { accountId, record, changedAtMs, provider } = account;
    const { state: stored, phone, lid, pushName } = record;
    const base = {
      accountId,
      ...(provider && { provider }),
      sinceMs: changedAtMs,
      ...(phone !== undefined && { phone }),
      ...(lid !== undefined && { lid }),
      ...(pushName !== undefined && { name: pushName }),
    };
    if (this.#isBlind()) {
      return {
        ...base,
        state: 'stopped',
        nextAction:
          'Fix the database (see reason): wa2ai then connects again. WhatsApp queues what is sent meanwhile.',
        ...because(saidBy(this.#deps.storageTrouble() ?? PHRASES['account.database-silent'])),
      };
    }
    if (node === undefined || node === this.#deps.bus.nodeId) {
      return {
        ...base,
        state: 'starting',
        nextAction: 'Nothing to do: a node is about to connect this account.',
      };
    }
    return {
      ...base,
      state: stored,
      nextAction: nextActionOf(stored),
      ...(record.reason !== undefined && { reason: record.reason }),
      ...(record.phrase && { phrase: record.phrase }),
      node,
    };
  }

  #isInDoubt(): boolean {
    return this.#view.accounts.some(({ accountId, availability, owner, record }) => {
      if (availability !== 'owned' || owner?.nodeId === this.#deps.bus.nodeId) return false;
      const status = this.#published.get(accountId)?.status;
      // A code may have come before its node knew of this one.
      return status?.state !== record.state || (status.state === 'pairing' && !hasCode(status));
    });
  }

  #isBlind(): boolean {
    return this.#deps.clock.monotonicMs() - this.#seenAtMs > this.#deps.viewLifetimeMs;
  }

  #hasOthers(): boolean {
    return this.#view.nodes.some(({ nodeId, isAlive }) => isAlive && nodeId !== this.#deps.bus.nodeId);
  }

  async #command(request: Command): Promise<AccountStatus | undefined> {
    const { accountId } = request;
    const status = this.get(accountId);
    if (!status) return undefined;
    if (this.#deps.registry.provider(accountId)) return this.#run(request);
    const { node } = status;
    if (node === undefined) throw new AccountNotHeldError(accountId);
    const result = await this.#deps.calls.call(node, 'account', request, RESULT_WAIT_MS);
    if (!result) throw new AccountNotHeldError(accountId, node);
    return result.value as AccountStatus | undefined;
  }

  async #run({ accountId, action, by, passkey }: Command): Promise<AccountStatus | undefined> {
    const { registry, bus } = this.#deps;
    const provider = registry.provider(accountId);
    if (!provider) throw new AccountNotHeldError(accountId, bus.nodeId);
    const run = () => {
      if (action === 'pair') return provider.pair(by ?? { method: 'qr' });
      if (action !== 'usePasskey') return provider[action]();
      if (!provider.usePasskey || !passkey) throw new PasskeyNotAskedError(accountId);
      return provider.usePasskey(passkey);
    };
    return { ...(await run()), node: bus.nodeId };
  }
}

function hasCode({ qr, pairingCode }: AccountStatus): boolean {
  return qr !== undefined || pairingCode !== undefined;
}

/** An account that this node runs: its connection, and the delivery of its replies. */
interface RegisteredAccount {
  provider: ChatProvider;
  delivery: ReplyDelivery;
  /** Absent: WhatsApp is asked about nobody. */
  numbers?: Pick<NumberLookUps, 'lookUp'>;
}

/** The accounts that this node runs, by account id. */
export class AccountRegistry {
  readonly #accounts = new Map<string, RegisteredAccount>();

  add(account: RegisteredAccount): void {
    this.#accounts.set(account.provider.accountId, account);
  }

  /** Removes an account, unless it was added again meanwhile. */
  remove(account: RegisteredAccount): void {
    const { accountId } = account.provider;
    if (this.#accounts.get(accountId) === account) this.#accounts.delete(accountId);
  }

  provider(accountId: string): ChatProvider | undefined {
    return this.#accounts.get(accountId)?.provider;
  }

  delivery(accountId: string): ReplyDelivery | undefined {
    return this.#accounts.get(accountId)?.delivery;
  }

  numbers(accountId: string): RegisteredAccount['numbers'] | undefined {
    return this.#accounts.get(accountId)?.numbers;
  }

  /** Deliveries of all accounts. */
  deliveries(): ReplyDelivery[] {
    return [...this.#accounts.values()].map(({ delivery }) => delivery);
  }

  list(): AccountStatus[] {
    return [...this.#accounts.values()].map(({ provider }) => provider.status());
  }

  get(accountId: string): AccountStatus | undefined {
    return this.provider(accountId)?.status();
  }
}
