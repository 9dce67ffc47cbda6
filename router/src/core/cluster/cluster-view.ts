import { AccountNotHeldError, Wa2aiError } from '../errors.ts';
import type { AccountControl, PairBy } from '../ports/account-control.ts';
import type { AccountStatus } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { AccountView, Cluster, ClusterView } from '../ports/cluster.ts';
import type { AccountRegistry } from './account-registry.ts';
import { nextActionOf } from './account-state.ts';
import type { NodeBus, NodeMessage } from './node-messages.ts';

export interface ClusterAccountsDeps {
  nodeId: string;
  /** The accounts that this node holds. */
  registry: AccountRegistry;
  notes: NodeBus;
  cluster: Pick<Cluster, 'addAccount'>;
  /** There is something to take: this node and the others look at once. */
  nudge(): void;
  /** A fresh name for a question to another node. */
  newId(): string;
  clock: Clock;
  /** What is known to be wrong with the database; a sentence. */
  storageTrouble(): string | undefined;
  /** A look at the others that was not renewed for this long says nothing any more: the database is away. */
  viewLifetimeMs: number;
}

type Command = Extract<NodeMessage, { kind: 'command' }>;
type Reply = Extract<NodeMessage, { kind: 'answer' }>;

/** A little longer than a pairing code takes to come. */
const ANSWER_WAIT_MS = 25_000;

/** A holder that has told nothing for so long, or something else than it stored, is asked: its word may have been lost. */
const DOUBT_MS = 3_000;

/**
 * All accounts of the database, wherever they are held: those of this node directly, those of others by what their
 * holders tell. What an admin asks for is passed on to the node that holds the account.
 */
export class ClusterAccounts implements AccountControl {
  readonly #deps: ClusterAccountsDeps;
  readonly #told = new Map<string, { from: string; status: AccountStatus }>();
  readonly #questions = new Map<string, (reply: Reply) => void>();
  #view: ClusterView = { nodes: [], accounts: [] };
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #doubtSinceMs: number | undefined;

  constructor(deps: ClusterAccountsDeps) {
    this.#deps = deps;
  }

  /** What was seen last of nodes and accounts. */
  get view(): ClusterView {
    return this.#view;
  }

  /** Takes a fresh look at nodes and accounts. */
  seen(view: ClusterView): void {
    this.#view = view;
    this.#seenAtMs = this.#deps.clock.monotonicMs();
    const holders = new Map(view.accounts.map(({ accountId, holder }) => [accountId, holder?.nodeId]));
    for (const [accountId, { from }] of this.#told) {
      if (holders.get(accountId) !== from) this.#told.delete(accountId);
    }
    this.#doubtSinceMs = this.#isInDoubt() ? (this.#doubtSinceMs ?? this.#seenAtMs) : undefined;
    if (this.#doubtSinceMs === undefined || this.#seenAtMs - this.#doubtSinceMs < DOUBT_MS) return;
    this.#doubtSinceMs = this.#seenAtMs;
    this.#deps.notes.publish({ kind: 'who' });
  }

  /** A status of an account held here changed: other nodes show it too. */
  changed(status: AccountStatus): void {
    if (this.#hasOthers()) this.#deps.notes.publish({ kind: 'status', status });
  }

  /** Takes a note of another node; those that are not about statuses and commands are left alone. */
  take(note: NodeMessage, from: string): void {
    if (note.kind === 'status') this.#told.set(note.status.accountId, { from, status: note.status });
    if (note.kind === 'who') {
      for (const status of this.#deps.registry.list()) this.#deps.notes.publish({ kind: 'status', status });
    }
    if (note.kind === 'answer') this.#questions.get(note.id)?.(note);
    if (note.kind === 'command' && this.#deps.registry.provider(note.accountId)) void this.#obey(note);
  }

  list(): AccountStatus[] {
    const ids = new Set(
      [...this.#view.accounts, ...this.#deps.registry.list()].map((each) => each.accountId),
    );
    return [...ids].sort().flatMap((accountId) => this.get(accountId) ?? []);
  }

  get(accountId: string): AccountStatus | undefined {
    const { registry, nodeId } = this.#deps;
    const own = registry.get(accountId);
    if (own) return { ...own, node: nodeId };
    const account = this.#view.accounts.find((each) => each.accountId === accountId);
    if (!account) return undefined;
    const node = account.availability === 'held' ? account.holder?.nodeId : undefined;
    const told = this.#told.get(accountId);
    if (told && told.from === node && !this.#isBlind()) return { ...told.status, node };
    return this.#statusOf(account, node);
  }

  async create(accountId: string): Promise<'added' | 'known'> {
    const outcome = await this.#deps.cluster.addAccount(accountId);
    const account: AccountView = {
      accountId,
      record: { state: 'starting' },
      changedAtMs: this.#deps.clock.now(),
      availability: 'free',
    };
    // Known here from now on, without waiting for the next look.
    if (outcome === 'added') {
      this.#view = { ...this.#view, accounts: [...this.#view.accounts, account] };
      this.#deps.nudge();
    }
    return outcome;
  }

  /** Drops a deleted account from the view, and makes every node look at once: the one that runs it disconnects it. */
  forget(accountId: string): void {
    this.#told.delete(accountId);
    const accounts = this.#view.accounts.filter((account) => account.accountId !== accountId);
    this.#view = { ...this.#view, accounts };
    this.#deps.nudge();
  }

  pair(accountId: string, by: PairBy): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'pair', by });
  }

  logout(accountId: string): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'logout' });
  }

  restart(accountId: string): Promise<AccountStatus | undefined> {
    return this.#command({ accountId, action: 'restart' });
  }

  /** Of an account that nobody told of: what its last holder stored, as far as it can still be true. */
  #statusOf(account: AccountView, node: string | undefined): AccountStatus {
    const { accountId, record, changedAtMs } = account;
    const { state: stored, phone, lid, pushName } = record;
    const base = {
      accountId,
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
          'Mend the database as the reason says: wa2ai connects again by itself. WhatsApp keeps what is sent meanwhile.',
        reason: this.#deps.storageTrouble() ?? 'The database does not answer, so no message is taken in.',
      };
    }
    if (node === undefined || node === this.#deps.nodeId) {
      return {
        ...base,
        state: 'starting',
        nextAction: 'Nothing to do: a node is about to take this account.',
      };
    }
    return {
      ...base,
      state: stored,
      nextAction: nextActionOf(stored),
      ...(record.reason !== undefined && { reason: record.reason }),
      node,
    };
  }

  #isInDoubt(): boolean {
    return this.#view.accounts.some(({ accountId, availability, holder, record }) => {
      if (availability !== 'held' || holder?.nodeId === this.#deps.nodeId) return false;
      return this.#told.get(accountId)?.status.state !== record.state;
    });
  }

  #isBlind(): boolean {
    return this.#deps.clock.monotonicMs() - this.#seenAtMs > this.#deps.viewLifetimeMs;
  }

  #hasOthers(): boolean {
    return this.#view.nodes.some(({ nodeId, isAlive }) => isAlive && nodeId !== this.#deps.nodeId);
  }

  async #command(asked: Omit<Command, 'kind' | 'id'>): Promise<AccountStatus | undefined> {
    const { accountId } = asked;
    const status = this.get(accountId);
    if (!status) return undefined;
    if (this.#deps.registry.provider(accountId)) return this.#run(asked);
    if (status.node === undefined) throw new AccountNotHeldError(accountId);
    return this.#ask(asked, status.node);
  }

  async #run({ accountId, action, by }: Omit<Command, 'kind' | 'id'>): Promise<AccountStatus | undefined> {
    const { registry, nodeId } = this.#deps;
    const status =
      action === 'pair'
        ? await registry.pair(accountId, by ?? { method: 'qr' })
        : await registry[action](accountId);
    return status && { ...status, node: nodeId };
  }

  async #ask(asked: Omit<Command, 'kind' | 'id'>, node: string): Promise<AccountStatus | undefined> {
    const id = this.#deps.newId();
    const answered = new AbortController();
    try {
      const reply = new Promise<Reply>((resolve) => this.#questions.set(id, resolve));
      this.#deps.notes.publish({ kind: 'command', id, ...asked });
      const late = this.#deps.clock.sleep(ANSWER_WAIT_MS, answered.signal).then(() => undefined);
      const { error, status } = (await Promise.race([reply, late])) ?? {
        error: new AccountNotHeldError(asked.accountId, node),
      };
      if (!error) return status && { ...status, node };
      if (error instanceof Wa2aiError) throw error;
      throw new Wa2aiError(error.code, error.isLater ? 'retry' : 'dead', error.message);
    } finally {
      answered.abort();
      this.#questions.delete(id);
    }
  }

  async #obey(command: Command): Promise<void> {
    const { notes } = this.#deps;
    const { id } = command;
    try {
      const status = await this.#run(command);
      notes.publish({ kind: 'answer', id, ...(status && { status }) });
    } catch (error) {
      const known = error instanceof Wa2aiError ? error : undefined;
      notes.publish({
        kind: 'answer',
        id,
        error: {
          code: known?.code ?? 'INTERNAL',
          isLater: known?.disposition !== 'dead',
          message:
            known?.message ?? 'The node that holds the account could not do it; its log has the cause.',
        },
      });
    }
  }
}
