import type { AccountLeases, Fence } from '../ports/account-lease.ts';
import type { Clock } from '../ports/clock.ts';
import type { AccountView, Cluster, ClusterView } from '../ports/cluster.ts';
import type { Logger } from '../ports/logger.ts';
import { accountToGive, COURTESY_MS, DEAD_FOR_MS, ranksOf } from './account-placement.ts';
import { HeldLease } from './held-lease.ts';

/** An account that this node has connected. */
export interface HeldAccount {
  /** Finishes what is being sent and stored, then closes the connection. */
  stop(): Promise<void>;
  /** The account is lost: closes the connection within this call, and nothing is written any more. */
  abandon(): Promise<void>;
}

export interface LeaseManagerDeps {
  nodeId: string;
  leases: AccountLeases;
  cluster: Cluster;
  /** Connects an account under its lease; a rejection releases the lease. */
  hold(fence: Fence): Promise<HeldAccount>;
  /** Turns that run on this node, for the others. */
  turns(): number;
  /** Called with each view of the nodes. */
  onView(view: ClusterView): void;
  /** Makes the other nodes check at once. */
  nudgeOthers(): void;
  /** How long the connection with this node's lock has been up; right after a break other nodes may only look dead. */
  connectedForMs(): number;
  clock: Clock;
  /** Milliseconds of a clock that never jumps. */
  monotonicMs(): number;
  /** How long a lease is valid after its last renewal. */
  ttlMs: number;
  log: Logger;
}

/** Between checks of the other nodes, if there are any; part of the time that a take-over needs. */
const LOOK_EVERY_MS = 300;
/** The same while an account can be taken. */
const LOOK_SOON_MS = 100;
const WATCH_EVERY_MS = 250;
/** After its connection breaks, this node takes over no account for this long, in milliseconds: every node may have lost its connection. */
const SETTLED_AFTER_MS = 2_000;

interface Holding {
  lease: HeldLease;
  account: HeldAccount;
}

/**
 * Decides which accounts this node connects: takes free ones in fair shares, disconnects those that it lost, and releases
 * accounts to nodes that have fewer. One check at a time. A second loop renews the leases, however long a check takes,
 * and disconnects when renewing fails for two thirds of a lease's time, before another node may connect.
 */
export class LeaseManager {
  readonly #deps: LeaseManagerDeps;
  readonly #holdings = new Map<string, Holding>();
  /** Leases of accounts that are being released: valid until the last write is made and the connection is closed. */
  readonly #releasing = new Set<HeldLease>();
  /** Accounts that are being disconnected, until their last work has ended. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Since when an account can be taken, by account, node and epoch. */
  readonly #takeableSince = new Map<string, { key: string; sinceMs: number }>();
  readonly #stopping = new AbortController();
  #nap = new AbortController();
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
  #releasedAtMs = Number.NEGATIVE_INFINITY;
  #isDraining = false;
  #isNudged = false;
  #isAlone = true;
  #running: Promise<unknown> | undefined;

  constructor(deps: LeaseManagerDeps) {
    this.#deps = deps;
  }

  /** Epochs of the accounts of this node. */
  held(): Map<string, bigint> {
    return new Map([...this.#holdings].map(([accountId, { lease }]) => [accountId, lease.epoch]));
  }

  /** Checks once, so that free accounts are taken when it resolves, then continues until `stop`. Never rejects. */
  async start(): Promise<void> {
    await this.#look();
    this.#running = Promise.all([this.#keepLooking(), this.#keepWatching()]);
  }

  /** Checks now. */
  nudge(): void {
    this.#isNudged = true;
    this.#nap.abort();
  }

  /** Releases every account, so that other nodes can take them at once, and takes no more. Idempotent. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.nudge();
    await Promise.all([...this.#holdings.keys()].map((accountId) => this.#release(accountId)));
    await Promise.all(this.#leaving.values());
  }

  /** Ends both loops; after `drain`. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#nap.abort();
    await this.#running;
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
    // Without other nodes there is nothing to check; a node that starts sends a message.
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
      this.#loseTaken(view);
      onView(view);
      if (this.#isDraining) return;
      const ranks = ranksOf(view, this.#deps.nodeId);
      // Right after a failover the database knows no node's connection yet, not even this one's.
      const seesItself = view.nodes.some(({ nodeId, isAlive }) => isAlive && nodeId === this.#deps.nodeId);
      const taken = view.accounts.map((account) =>
        this.#takeInRank(account, ranks.get(account.accountId) ?? 0, seesItself),
      );
      await Promise.all(taken);
      this.#releaseWhenUneven(view);
    } catch (error) {
      log.warn({ err: error }, 'cannot read the other nodes, retrying');
    }
  }

  async #renewWhenDue(): Promise<void> {
    const askedAtMs = this.#deps.monotonicMs();
    if (askedAtMs - this.#renewedAtMs < this.#heartbeatMs()) return;
    const leases = [...this.#releasing, ...[...this.#holdings.values()].map(({ lease }) => lease)];
    if (leases.length === 0) return;
    let kept: Set<string>;
    try {
      kept = await this.#deps.leases.renew(leases);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'cannot renew leases, retrying');
      return;
    }
    this.#renewedAtMs = askedAtMs;
    for (const lease of leases) lease.renewed(askedAtMs, kept);
  }

  #loseTaken(view: ClusterView): void {
    for (const { accountId, holder } of view.accounts) {
      const lease = this.#holdings.get(accountId)?.lease;
      // A view may be older than the lease; its epoch is then smaller.
      if (lease && holder && holder.epoch > lease.epoch) lease.lose('another node took the account');
    }
    const known = new Set(view.accounts.map(({ accountId }) => accountId));
    for (const [accountId, { lease }] of this.#holdings) {
      if (!known.has(accountId)) lease.lose('the account was deleted');
    }
  }

  async #takeInRank(account: AccountView, rank: number, seesItself: boolean): Promise<void> {
    const { accountId, availability, holder } = account;
    const { nodeId, leases, log, monotonicMs, connectedForMs } = this.#deps;
    if (this.#holdings.has(accountId) || this.#leaving.has(accountId)) return;
    const isOwn = holder?.nodeId === nodeId;
    if (availability === 'held' && !isOwn) {
      this.#takeableSince.delete(accountId);
      return;
    }
    const sinceMs = this.#takeableFor(accountId, `${availability} ${holder?.nodeId} ${holder?.epoch}`);
    const mustWaitMs = rank * COURTESY_MS + (availability === 'dead-holder' && !isOwn ? DEAD_FOR_MS : 0);
    if (!isOwn && sinceMs < mustWaitMs) return;
    const fromDead = availability === 'dead-holder' && seesItself && connectedForMs() > SETTLED_AFTER_MS;
    const askedAtMs = monotonicMs();
    const lease = await leases.acquire(accountId, { fromDead });
    if (!lease) return;
    this.#takeableSince.delete(accountId);
    log.info({ accountId, epoch: String(lease.epoch), before: holder?.nodeId }, 'account taken');
    const held: HeldLease = new HeldLease(lease, {
      leases,
      isTakeOver: holder !== undefined && !isOwn,
      safeMs: (this.#deps.ttlMs * 2) / 3,
      askedAtMs,
      monotonicMs,
      onLost: (reason) => this.#lose(held, reason),
    });
    await this.#connect(held);
  }

  /** How long the account can be taken in this way, in milliseconds. */
  #takeableFor(accountId: string, key: string): number {
    const nowMs = this.#deps.monotonicMs();
    const seen = this.#takeableSince.get(accountId);
    if (seen?.key === key) return nowMs - seen.sinceMs;
    this.#takeableSince.set(accountId, { key, sinceMs: nowMs });
    return 0;
  }

  async #connect(lease: HeldLease): Promise<void> {
    const { hold, log } = this.#deps;
    const { accountId } = lease;
    try {
      const account = await hold(lease);
      this.#holdings.set(accountId, { lease, account });
      if (lease.lostBecause !== undefined) this.#lose(lease, lease.lostBecause);
      else if (this.#isDraining) await this.#release(accountId);
    } catch (error) {
      log.error({ err: error, accountId }, 'cannot connect account, retrying');
      await this.#deps.leases.release(lease).catch(() => undefined);
    }
  }

  #lose(lease: HeldLease, reason: string): void {
    const { accountId, epoch } = lease;
    const holding = this.#holdings.get(accountId);
    // An earlier lease of the same account was lost, not the present one.
    if (holding?.lease !== lease) return;
    this.#deps.log.warn({ accountId, epoch: String(epoch), reason }, 'account lost, disconnecting');
    void this.#leave(accountId, holding.account.abandon());
    this.#holdings.delete(accountId);
    this.nudge();
  }

  async #release(accountId: string): Promise<void> {
    const holding = this.#holdings.get(accountId);
    if (!holding) return;
    this.#holdings.delete(accountId);
    this.#releasing.add(holding.lease);
    const { leases, log, nudgeOthers } = this.#deps;
    await this.#leave(
      accountId,
      (async () => {
        await holding.account.stop().finally(() => this.#releasing.delete(holding.lease));
        await leases.release(holding.lease);
        log.info({ accountId, epoch: String(holding.lease.epoch) }, 'account released');
        nudgeOthers();
      })(),
    );
  }

  async #leave(accountId: string, work: Promise<void>): Promise<void> {
    const left = work
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, accountId }, 'account not released, its lease will expire');
      })
      .finally(() => {
        this.#leaving.delete(accountId);
      });
    this.#leaving.set(accountId, left);
    await left;
  }

  /**
   * One account at a time, and not before the last one had time to connect elsewhere. Its last sends may take a minute;
   * they are not awaited, because this node must keep updating its row.
   */
  #releaseWhenUneven(view: ClusterView): void {
    const nowMs = this.#deps.monotonicMs();
    if (nowMs - this.#releasedAtMs < this.#heartbeatMs()) return;
    const accountId = accountToGive(view, this.#deps.nodeId);
    if (accountId === undefined || !this.#holdings.has(accountId)) return;
    this.#releasedAtMs = nowMs;
    void this.#release(accountId);
  }
}
