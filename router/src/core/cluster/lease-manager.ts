import type { AccountLeases, Fence } from '../ports/account-lease.ts';
import type { Clock } from '../ports/clock.ts';
import type { AccountView, Cluster, ClusterView } from '../ports/cluster.ts';
import type { Logger } from '../ports/logger.ts';
import { accountToGive, COURTESY_MS, DEAD_FOR_MS, placesInLine } from './account-placement.ts';
import { HeldLease } from './held-lease.ts';

/** What this process does with an account that it holds. */
export interface HeldAccount {
  /** Ends in order: what is under way is written, then the socket is closed. */
  stop(): Promise<void>;
  /** The account is lost: the socket is cut in this very call and nothing is written any more. */
  abandon(): Promise<void>;
}

export interface LeaseManagerDeps {
  nodeId: string;
  leases: AccountLeases;
  cluster: Cluster;
  /** Starts to work on an account under its lease; a rejection gives the lease back. */
  hold(fence: Fence): Promise<HeldAccount>;
  /** Turns that run on this node, for the others to know. */
  turns(): number;
  /** Told after each look at the other nodes. */
  onView(view: ClusterView): void;
  /** Tells other nodes that something changed for which they should look at once. */
  nudgeOthers(): void;
  /** How long the connection that proves this node alive has been up; right after a break others may only seem dead. */
  connectedForMs(): number;
  clock: Clock;
  /** Milliseconds of a clock that never jumps. */
  monotonicMs(): number;
  /** How long a lease counts after its last renewal. */
  ttlMs: number;
  log: Logger;
}

/** Between looks at the other nodes while there are some: what a take-over after a crash waits for. */
const LOOK_EVERY_MS = 300;
/** The same while an account waits to be taken. */
const LOOK_SOON_MS = 100;
const WATCH_EVERY_MS = 250;
/** After a break of its own connection this node leaves others that seem dead this long to come back too. */
const SETTLED_AFTER_MS = 2_000;

interface Holding {
  lease: HeldLease;
  account: HeldAccount;
}

/**
 * Decides which accounts this node holds: takes free ones in fair shares, lets go of what it lost,
 * and gives accounts up to nodes that have fewer. One look at a time; a watch beside it renews the leases, however long
 * a look takes, and closes the sockets when that fails for two thirds of a lease's time, so that they are closed before
 * anybody else may open one.
 */
export class LeaseManager {
  readonly #deps: LeaseManagerDeps;
  readonly #holdings = new Map<string, Holding>();
  /** Leases of accounts that are being given back: they count until the last write is made and the socket is closed. */
  readonly #givingBack = new Set<HeldLease>();
  /** Accounts that are being let go, until their last piece of work has ended. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Since when an account is seen takeable, by account, holder and epoch. */
  readonly #takeableSince = new Map<string, { key: string; sinceMs: number }>();
  readonly #stopping = new AbortController();
  #nap = new AbortController();
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
  #gaveAtMs = Number.NEGATIVE_INFINITY;
  #isDraining = false;
  #isNudged = false;
  #isAlone = true;
  #loops: Promise<unknown> | undefined;

  constructor(deps: LeaseManagerDeps) {
    this.#deps = deps;
  }

  /** Epochs of the accounts held here. */
  held(): Map<string, bigint> {
    return new Map([...this.#holdings].map(([accountId, { lease }]) => [accountId, lease.epoch]));
  }

  /** Looks once, so that free accounts are held when it resolves, then goes on by itself. Never rejects. */
  async start(): Promise<void> {
    await this.#look();
    this.#loops = Promise.all([this.#keepLooking(), this.#keepWatching()]);
  }

  /** Looks now instead of at the next turn. */
  nudge(): void {
    this.#isNudged = true;
    this.#nap.abort();
  }

  /** Gives every account back, so that other nodes can take them at once, and takes no more. Idempotent. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.nudge();
    await Promise.all([...this.#holdings.keys()].map((accountId) => this.#giveBack(accountId)));
    await Promise.all(this.#leaving.values());
  }

  /** Ends the looking; after `drain`. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#nap.abort();
    await this.#loops;
  }

  async #keepLooking(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (!this.#isNudged) await this.#pause();
      this.#isNudged = false;
      if (!this.#stopping.signal.aborted) await this.#look();
    }
  }

  async #pause(): Promise<void> {
    this.#nap = new AbortController();
    let waitMs = this.#heartbeatMs();
    if (this.#takeableSince.size > 0) waitMs = Math.min(waitMs, LOOK_SOON_MS);
    // Alone there is nothing to see, and another node that comes says so.
    else if (!this.#isAlone) waitMs = Math.min(waitMs, LOOK_EVERY_MS);
    await this.#deps.clock.sleep(waitMs, this.#nap.signal).catch(() => undefined);
  }

  async #keepWatching(): Promise<void> {
    const { clock, ttlMs } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(Math.min(WATCH_EVERY_MS, ttlMs / 12), signal).catch(() => undefined);
      for (const { lease } of this.#holdings.values()) {
        if (!lease.isHeld()) lease.lose('the lease could not be renewed in time');
      }
      this.#renewing ??= this.#renewWhenDue().finally(() => {
        this.#renewing = undefined;
      });
    }
  }

  #heartbeatMs(): number {
    return this.#deps.ttlMs / 5;
  }

  async #look(): Promise<void> {
    const { cluster, turns, onView, log } = this.#deps;
    try {
      const view = await cluster.beat({ turns: turns(), isDraining: this.#isDraining });
      this.#isAlone = view.nodes.every(({ nodeId, isAlive }) => nodeId === this.#deps.nodeId || !isAlive);
      this.#letGoOfTaken(view);
      onView(view);
      if (this.#isDraining) return;
      const places = placesInLine(view, this.#deps.nodeId);
      // A database that has just taken the place of another knows no node's connection yet, this one's neither.
      const seesItself = view.nodes.some(({ nodeId, isAlive }) => isAlive && nodeId === this.#deps.nodeId);
      const taken = view.accounts.map((account) =>
        this.#takeWhenItsTurn(account, places.get(account.accountId) ?? 0, seesItself),
      );
      await Promise.all(taken);
      this.#giveWhenUneven(view);
    } catch (error) {
      log.warn({ err: error }, 'the other nodes could not be looked at; it is tried again');
    }
  }

  async #renewWhenDue(): Promise<void> {
    const askedAtMs = this.#deps.monotonicMs();
    if (askedAtMs - this.#renewedAtMs < this.#heartbeatMs()) return;
    const leases = [...this.#givingBack, ...[...this.#holdings.values()].map(({ lease }) => lease)];
    if (leases.length === 0) return;
    let kept: Set<string>;
    try {
      kept = await this.#deps.leases.renew(leases);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'leases could not be renewed; it is tried again');
      return;
    }
    this.#renewedAtMs = askedAtMs;
    for (const lease of leases) {
      if (kept.has(lease.accountId)) lease.renewed(askedAtMs);
      else lease.lose('another node took the account');
    }
  }

  #letGoOfTaken(view: ClusterView): void {
    for (const { accountId, holder } of view.accounts) {
      const lease = this.#holdings.get(accountId)?.lease;
      // A view may be older than the lease, never the other way round.
      if (lease && holder && holder.epoch > lease.epoch) lease.lose('another node took the account');
    }
    const known = new Set(view.accounts.map(({ accountId }) => accountId));
    for (const [accountId, { lease }] of this.#holdings) {
      if (!known.has(accountId)) lease.lose('the account was deleted');
    }
  }

  async #takeWhenItsTurn(account: AccountView, place: number, seesItself: boolean): Promise<void> {
    const { accountId, availability, holder } = account;
    const { nodeId, leases, log, monotonicMs, connectedForMs } = this.#deps;
    if (this.#holdings.has(accountId) || this.#leaving.has(accountId)) return;
    const isOwn = holder?.nodeId === nodeId;
    if (availability === 'held' && !isOwn) {
      this.#takeableSince.delete(accountId);
      return;
    }
    const sinceMs = this.#takeableFor(accountId, `${availability} ${holder?.nodeId} ${holder?.epoch}`);
    const mustWaitMs = place * COURTESY_MS + (availability === 'dead-holder' && !isOwn ? DEAD_FOR_MS : 0);
    if (!isOwn && sinceMs < mustWaitMs) return;
    const fromDead = availability === 'dead-holder' && seesItself && connectedForMs() > SETTLED_AFTER_MS;
    const askedAtMs = monotonicMs();
    const lease = await leases.acquire(accountId, { fromDead });
    if (!lease) return;
    this.#takeableSince.delete(accountId);
    log.info({ accountId, epoch: String(lease.epoch), before: holder?.nodeId }, 'account taken');
    const held: HeldLease = new HeldLease(lease, {
      safeMs: (this.#deps.ttlMs * 2) / 3,
      askedAtMs,
      monotonicMs,
      onLost: (reason) => this.#letGo(held, reason),
    });
    await this.#hold(held);
  }

  /** For how long the account has been seen takeable in this way, in milliseconds. */
  #takeableFor(accountId: string, key: string): number {
    const nowMs = this.#deps.monotonicMs();
    const seen = this.#takeableSince.get(accountId);
    if (seen?.key === key) return nowMs - seen.sinceMs;
    this.#takeableSince.set(accountId, { key, sinceMs: nowMs });
    return 0;
  }

  async #hold(lease: HeldLease): Promise<void> {
    const { hold, log } = this.#deps;
    const { accountId } = lease;
    try {
      const account = await hold(lease);
      this.#holdings.set(accountId, { lease, account });
      if (lease.lostBecause !== undefined) this.#letGo(lease, lease.lostBecause);
      else if (this.#isDraining) await this.#giveBack(accountId);
    } catch (error) {
      log.error({ err: error, accountId }, 'account could not be started; another try follows');
      await this.#deps.leases.release(lease).catch(() => undefined);
    }
  }

  #letGo(lease: HeldLease, reason: string): void {
    const { accountId, epoch } = lease;
    const holding = this.#holdings.get(accountId);
    // A late word about an earlier lease of the same account means nothing to the present one.
    if (holding?.lease !== lease) return;
    this.#deps.log.warn(
      { accountId, epoch: String(epoch), reason },
      'account lost; its connection is cut and nothing more is written',
    );
    void this.#leave(accountId, holding.account.abandon());
    this.#holdings.delete(accountId);
    this.nudge();
  }

  async #giveBack(accountId: string): Promise<void> {
    const holding = this.#holdings.get(accountId);
    if (!holding) return;
    this.#holdings.delete(accountId);
    this.#givingBack.add(holding.lease);
    const { leases, log, nudgeOthers } = this.#deps;
    await this.#leave(
      accountId,
      (async () => {
        await holding.account.stop().finally(() => this.#givingBack.delete(holding.lease));
        await leases.release(holding.lease);
        log.info({ accountId, epoch: String(holding.lease.epoch) }, 'account given back');
        nudgeOthers();
      })(),
    );
  }

  async #leave(accountId: string, work: Promise<void>): Promise<void> {
    const left = work
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, accountId }, 'account was not left in order; its lease runs out');
      })
      .finally(() => {
        this.#leaving.delete(accountId);
      });
    this.#leaving.set(accountId, left);
    await left;
  }

  /**
   * One account at a time, and not before the last one has had the time to open elsewhere. Its last sends may take a
   * minute, and this node must go on showing itself meanwhile, or others would take it for hung.
   */
  #giveWhenUneven(view: ClusterView): void {
    const nowMs = this.#deps.monotonicMs();
    if (nowMs - this.#gaveAtMs < this.#heartbeatMs()) return;
    const accountId = accountToGive(view, this.#deps.nodeId);
    if (accountId === undefined || !this.#holdings.has(accountId)) return;
    this.#gaveAtMs = nowMs;
    void this.#giveBack(accountId);
  }
}
