import { LeaseLostError, StorageUnavailableError } from '../../router/src/core/errors.ts';
import type { AccountStore } from '../../router/src/core/ports/account-store.ts';
import type { Fence, Lease } from '../../router/src/core/ports/cluster.ts';
import type { Inbox, Journal } from '../../router/src/core/ports/inbox.ts';
import type { KeyStore } from '../../router/src/core/ports/key-store.ts';
import type { Outbox } from '../../router/src/core/ports/outbox.ts';
import { MemoryAccountLeases, MemoryLeaseState } from '../doubles/memory-account-lease.ts';
import { MemoryAccountStore } from '../doubles/memory-account-store.ts';
import { MemoryCluster, MemoryClusterState } from '../doubles/memory-cluster.ts';
import { MemoryInbox } from '../doubles/memory-inbox.ts';
import { MemoryJournal } from '../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../doubles/memory-key-store.ts';
import { MemoryOutbox } from '../doubles/memory-outbox.ts';
import { MemoryRouteStore } from '../doubles/memory-route-store.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import type { SimProcess } from './sim-process.ts';
import { START_MS } from './sim-process.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimDatabaseDeps {
  time: VirtualTime;
  log: EventLog;
  faults: Faults;
  /** How long a lease counts after its last renewal, in milliseconds. */
  leaseTtlMs: number;
  /** False only to show that the simulation finds what the fence prevents. */
  isFenced: boolean;
  /** False only to show that the simulation finds what the journal prevents. */
  isJournalled: boolean;
  /** False only to show that the simulation finds what counting processes that end during a turn prevents. */
  isCounted: boolean;
  /** The same of processes that end while a reply is sent, and while a stanza is not in the inbox. */
  isCountedForReplies: boolean;
  isCountedForStanzas: boolean;
}

/** What one statement does under faults. */
export interface StatementPlan {
  requestMs: number;
  responseMs: number;
  fate: 'answered' | 'request-lost' | 'answer-lost' | 'repeated';
  /** When the caller learns of what was lost, in milliseconds after the request. */
  errorMs: number;
  /** A statement that was under way when its process died is executed all the same. */
  isExecutedAfterDeath: boolean;
  /** What happens to the process when the statement is executed. */
  effect: 'kill' | 'pause' | undefined;
  /** The process dies at once, and the statement is executed so much later: a backend does not notice its client's end. */
  lateMs: number | undefined;
}

/** Statements that are made for the account's owner: they count under its lease alone. */
const OWNER_WRITES = new Set([
  ...writes<Inbox>('inbox', ['add']),
  ...writes<KeyStore>('keys', ['commit']),
  ...writes<Journal>('journal', ['forget', 'setAlone']),
  ...writes<AccountStore>('accounts', ['save', 'nextGeneration', 'beginLimit', 'endLimit']),
  ...writes<Outbox>('outbox', [
    'markSending',
    'markSent',
    'setAlone',
    'markDead',
    'markRefused',
    'delay',
    'endDelays',
    'overdue',
    'release',
    'recordReceipts',
    'keepContent',
  ]),
]);

function writes<Port>(name: string, methods: Array<keyof Port & string>): string[] {
  return methods.map((method) => `${name}.${method}`);
}

/** One PostgreSQL: tables in memory, each statement a transaction. Every node has a session. */
export class SimDatabase {
  readonly state: MemoryState;
  readonly journal = new MemoryJournal(() => this.state);
  readonly deps: SimDatabaseDeps;
  readonly leases = new MemoryLeaseState();
  readonly cluster = new MemoryClusterState(this.leases);
  readonly routes: MemoryRouteStore;
  readonly keys = new MemoryKeyStore(this.journal, () => new MemoryInbox(this.state));
  readonly accounts: MemoryAccountStore;
  readonly #sessions = new Set<DatabaseSession>();
  #clockOffsetMs = 0;
  isDown = false;

  constructor(deps: SimDatabaseDeps) {
    this.deps = deps;
    this.state = new MemoryState(() => this.now());
    this.leases.onEnded = (accountId) => {
      if (deps.isCountedForReplies) new MemoryOutbox(this.state).countEnd(accountId);
      if (deps.isCountedForStanzas) this.journal.countEnd(accountId);
    };
    this.accounts = new MemoryAccountStore(() => deps.time.nowMs);
    this.routes = new MemoryRouteStore(
      () => this.now(),
      () => `route-${this.state.nextId()}`,
    );
  }

  /** The server's wall clock. */
  now(): number {
    return Math.floor(START_MS + this.deps.time.nowMs + this.#clockOffsetMs);
  }

  jumpMs(ms: number): void {
    this.#clockOffsetMs += ms;
  }

  /** What only this server may do with its tables: sets the time that leases run by. */
  transaction<T>(work: () => T): T {
    this.leases.nowMs = this.now();
    return work();
  }

  open(process: SimProcess, nodeId: string): DatabaseSession {
    const session = new DatabaseSession(this, process, nodeId);
    this.#sessions.add(session);
    this.leases.gone.delete(nodeId);
    return session;
  }

  /** The server notices that the session's client is gone. */
  close(session: DatabaseSession): void {
    if (!this.#sessions.delete(session)) return;
    const isStillThere = [...this.#sessions].some(({ nodeId }) => nodeId === session.nodeId);
    if (!isStillThere) this.leases.gone.add(session.nodeId);
  }

  reopen(session: DatabaseSession): void {
    this.#sessions.add(session);
    this.leases.gone.delete(session.nodeId);
  }

  /** NOTIFY: to all sessions, as those that listen get it. */
  notify(message: unknown): void {
    for (const session of this.#sessions) session.hear(message);
  }
}

/** One process's connections to the database. */
export class DatabaseSession {
  readonly nodeId: string;
  readonly #database: SimDatabase;
  readonly #process: SimProcess;
  #isPartitioned = false;
  #listener: ((message: unknown) => void) | undefined;
  #upSinceMs: number;

  constructor(database: SimDatabase, process: SimProcess, nodeId: string) {
    this.#database = database;
    this.#process = process;
    this.nodeId = nodeId;
    this.#upSinceMs = process.clock.monotonicMs();
  }

  get isPartitioned(): boolean {
    return this.#isPartitioned;
  }

  /** How long the connection that tells the others of this node has been up. */
  upForMs(): number {
    return this.isPartitioned ? 0 : this.#process.clock.monotonicMs() - this.#upSinceMs;
  }

  listen(listener: (message: unknown) => void): void {
    this.#listener = listener;
  }

  publish(message: unknown): void {
    const { faults, time } = this.#database.deps;
    if (this.#process.isDead || this.isPartitioned || this.#database.isDown) return;
    time.after(faults.networkMs(), () => this.#database.notify(message));
  }

  hear(message: unknown): void {
    const { faults } = this.#database.deps;
    if (this.isPartitioned || faults.isNotificationLost()) return;
    this.#process.after(faults.networkMs(), () => this.#listener?.(message));
  }

  /** Nothing passes between this process and the database any more; the server drops the session after a while. */
  partition(serverNoticesMs: number): void {
    this.#isPartitioned = true;
    this.#database.deps.time.after(serverNoticesMs, () => {
      if (this.isPartitioned) this.#database.close(this);
    });
  }

  /** @param onBack the connection is there again */
  heal(onBack: () => void): void {
    this.#isPartitioned = false;
    this.#process.after(this.#database.deps.faults.networkMs(), () => {
      this.#database.reopen(this);
      this.#upSinceMs = this.#process.clock.monotonicMs();
      onBack();
    });
  }

  get inbox() {
    const { state, deps } = this.#database;
    const inbox = new MemoryInbox(state, (lease) => !deps.isFenced || this.#isHeld(lease));
    const claimChats = inbox.claimChats.bind(inbox);
    if (!deps.isCounted) {
      inbox.claimChats = (chats, node) =>
        claimChats(
          chats.map((chat) => ({ ...chat, isLeft: false })),
          node,
        );
    }
    return this.port('inbox', inbox);
  }

  get routes() {
    return this.port('routes', this.#database.routes);
  }

  get leases() {
    const { leases, deps } = this.#database;
    return this.port(
      'leases',
      new MemoryAccountLeases(leases, { owner: this.nodeId, ttlMs: deps.leaseTtlMs }),
    );
  }

  get cluster() {
    const { cluster, deps } = this.#database;
    return this.port('cluster', new MemoryCluster(cluster, { nodeId: this.nodeId, ttlMs: deps.leaseTtlMs }));
  }

  get storage() {
    return this.port('storage', { check: async () => undefined });
  }

  /** The stores of an account's owner. */
  owned(fence: Fence) {
    const { state, keys, journal, deps } = this.#database;
    const withoutJournal = {
      read: keys.read.bind(keys),
      commit: async (...[scope, change]: Parameters<MemoryKeyStore['commit']>) => {
        if (change.messages)
          throw new StorageUnavailableError({ sentence: 'Messages come after their keys.' });
        return keys.commit(scope, { ...change, journal: [] });
      },
    };
    return {
      inbox: this.port('inbox', new MemoryInbox(state), fence),
      outbox: this.port('outbox', new MemoryOutbox(state), fence),
      keys: this.port('keys', deps.isJournalled ? keys : withoutJournal, fence),
      journal: this.port('journal', journal, fence),
      accounts: this.port('accounts', this.#database.accounts, fence),
    };
  }

  /** A store whose methods are statements of this session. */
  port<T extends object>(name: string, store: T, fence?: Fence): T {
    return new Proxy(store, {
      get: (target, method) => {
        const work: unknown = Reflect.get(target, method, target);
        if (typeof work !== 'function') return work;
        const what = `${name}.${String(method)}`;
        return (...args: unknown[]) =>
          this.#statement(
            what,
            () => Promise.resolve(Reflect.apply(work, target, args)),
            args,
            OWNER_WRITES.has(what) ? fence : undefined,
          );
      },
    });
  }

  /** Runs `execute` at the server as one transaction. */
  #statement<T>(
    what: string,
    execute: () => Promise<T>,
    args: unknown[],
    fence: Fence | undefined,
  ): Promise<T> {
    const { time, faults, log, isFenced } = this.#database.deps;
    const process = this.#process;
    if (process.isDead) return new Promise(() => undefined);
    if (fence && isFenced && !fence.isHeld()) return Promise.reject(new LeaseLostError(fence.accountId));
    return new Promise<T>((resolve, reject) => {
      const plan = faults.statement(what);
      const statement = describeStatement(what, args);
      const fail = (why: string, afterMs: number): void => {
        process.after(afterMs, () => {
          log.add(process.name, `database error: ${statement} ${why}`);
          reject(new StorageUnavailableError({ sentence: `The database does not answer: ${why}.` }));
        });
      };
      const run = (): void => {
        if (fence && isFenced && !this.#isHeld(fence)) {
          log.add('database', `refused ${statement} of ${process.name}: epoch ${fence.epoch} is over`);
          process.after(plan.responseMs, () => {
            fence.lose('another node took the account');
            reject(new LeaseLostError(fence.accountId));
          });
          return;
        }
        if (!UNLOGGED.test(what)) log.add('database', `${statement} of ${process.name}`);
        let result = this.#database.transaction(execute);
        if (plan.fate === 'repeated') result = result.then(() => this.#database.transaction(execute));
        if (plan.fate === 'answer-lost') {
          result.catch(() => undefined);
          fail('executed, answer lost', plan.errorMs);
          return;
        }
        result.then(
          (value) =>
            process.after(plan.responseMs, () => {
              if (this.isPartitioned) fail('executed, answer lost', plan.errorMs);
              else resolve(value);
            }),
          (error: unknown) => process.after(plan.responseMs, () => reject(error)),
        );
      };
      time.after(plan.requestMs, () => {
        if (process.isDead && !plan.isExecutedAfterDeath) return;
        if (this.#database.isDown) fail('connection refused', plan.responseMs);
        else if (this.isPartitioned || plan.fate === 'request-lost')
          fail('no answer, not executed', plan.errorMs);
        else if (plan.lateMs !== undefined && !process.isDead) {
          log.add('world', `${process.name} dies; ${what} is executed ${Math.round(plan.lateMs)} ms later`);
          faults.effects.kill(process);
          time.after(plan.lateMs, () => {
            run();
            faults.effects.executedLate();
          });
        } else {
          if (plan.effect && !process.isDead) {
            log.add('world', `${process.name}: ${plan.effect} while ${what} is executed`);
            faults.effects[plan.effect](process);
          }
          run();
        }
      });
    });
  }

  #isHeld({ accountId, owner, epoch }: Lease): boolean {
    const row = this.#database.leases.rows.get(accountId);
    return row?.owner === owner && row.epoch === epoch;
  }
}

/** The table of the row that a statement's first argument names. */
const ROWS: Record<string, string> = {
  'inbox.finishTurn': 'message',
  'inbox.countAttempt': 'message',
  'inbox.setAlone': 'message',
  'outbox.markSending': 'outbox',
  'outbox.markSent': 'outbox',
  'outbox.markDead': 'outbox',
  'outbox.delay': 'outbox',
  'outbox.release': 'outbox',
};

/** Statements that are made all the time and change nothing that a message's way depends on. */
const UNLOGGED =
  /^cluster|^leases.renew|^storage|^accounts\.(load|limits|save)|^outbox\.(queued|overdue)|openChats/;

function describeStatement(what: string, args: readonly unknown[]): string {
  return `${what}(${args.map((arg, index) => rowName(what, arg, index) ?? wordOf(arg)).join(', ')})`;
}

function rowName(what: string, arg: unknown, index: number): string | undefined {
  const table = index === 0 ? ROWS[what] : undefined;
  return table && `${table}#${String(arg)}`;
}

function wordOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(wordOf).join(' ')}]`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  const known = value as Record<string, unknown>;
  const words = ['waMessageId', 'state', 'reason', 'stanzaOrder', 'node', 'epoch'].flatMap((name) =>
    known[name] === undefined ? [] : `${name}=${String(known[name])}`,
  );
  if (typeof known.chatId === 'string') words.push(`chat#${known.chatId}`);
  for (const name of ['replies', 'journal', 'messages', 'puts']) {
    if (Array.isArray(known[name])) words.push(`${name}=${wordOf(known[name])}`);
  }
  if (typeof known.category === 'string')
    words.push(`${known.category}:${String(known.keyId)}=${String(known.value ?? '').slice(0, 60)}`);
  return `{${words.join(' ')}}`;
}
