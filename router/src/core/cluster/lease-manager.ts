import type { Clock } from '../clock.ts';
import { LeaseLostError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { AccountLeases, AccountView, Cluster, ClusterView, Fence, Lease } from '../ports/cluster.ts';

/** An account that this node has connected. */
export interface ConnectedAccount {
  /** Finishes what is being sent and stored, then closes the connection. */
  stop(): Promise<void>;
  /** The account is lost: closes the connection within this call, and nothing is written any more. */
  abandon(): Promise<void>;
}

interface LeaseManagerDeps {
  nodeId: string;
  leases: AccountLeases;
  cluster: Cluster;
  /** Connects an account under its lease; a rejection releases the lease. */
  connect(fence: Fence): Promise<ConnectedAccount>;
  /** Turns that run on this node, for the others. */
  turns(): number;
  /** Called with each view of the nodes. */
  onView(view: ClusterView): void;
  /** Makes the other nodes check immediately. */
  notifyOthers(): void;
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
const CHECK_EVERY_MS = 300;
/** The same while an account can be taken. */
const CHECK_SOON_MS = 100;
/** Between looks at leases whose renewal is due, or runs. */
const WATCH_EVERY_MS = 250;
/** After its connection breaks, this node takes over no account for this long, in milliseconds: every node may have lost its connection. */
const SETTLED_AFTER_MS = 2_000;

interface OwnedAccount {
  lease: HeldLease;
  account: ConnectedAccount;
}

/**
 * Decides which accounts this node connects: takes free ones in fair shares, disconnects those that it lost, and releases
 * accounts to nodes that have fewer. One check at a time. A second loop renews the leases, however long a check takes,
 * and disconnects when renewing fails for two thirds of a lease's time, before another node may connect.
 */
export class LeaseManager {
  readonly #deps: LeaseManagerDeps;
  readonly #owned = new Map<string, OwnedAccount>();
  /** Leases of accounts that are being released: valid until the last write is made and the connection is closed. */
  readonly #releasing = new Set<HeldLease>();
  /** Accounts whose lease this process requested. */
  readonly #requested = new Set<string>();
  /** Accounts that are being disconnected, until their last work has ended. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Since when an account can be taken, by account, node and epoch. */
  readonly #freeSince = new Map<string, { key: string; sinceMs: number }>();
  readonly #stopping = new AbortController();
  #pauseAbort = new AbortController();
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
  #releasedAtMs = Number.NEGATIVE_INFINITY;
  #isDraining = false;
  #isCheckDue = false;
  #isAlone = true;
  #running: Promise<unknown> | undefined;

  constructor(deps: LeaseManagerDeps) {
    this.#deps = deps;
  }

  /** Epochs of the accounts of this node. */
  owned(): Map<string, bigint> {
    return new Map([...this.#owned].map(([accountId, { lease }]) => [accountId, lease.epoch]));
  }

  /** Checks once, so that free accounts are taken when it resolves, then continues until `stop`. Never rejects. */
  async start(): Promise<void> {
    await this.#checkCluster();
    this.#running = Promise.all([this.#runChecks(), this.#keepWatching()]);
  }

  /** Checks now. */
  checkNow(): void {
    this.#isCheckDue = true;
    this.#pauseAbort.abort();
  }

  /** Releases every account, so that other nodes can take them immediately, and takes no more. Idempotent. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.checkNow();
    await Promise.all([...this.#owned.keys()].map((accountId) => this.#release(accountId)));
    await Promise.all(this.#leaving.values());
  }

  /** Ends both loops; after `drain`. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#pauseAbort.abort();
    await this.#running;
  }

  async #runChecks(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (!this.#isCheckDue) await this.#pause();
      this.#isCheckDue = false;
      if (!this.#stopping.signal.aborted) await this.#checkCluster();
    }
  }

  async #pause(): Promise<void> {
    this.#pauseAbort = new AbortController();
    let waitMs = this.#heartbeatMs();
    if (this.#freeSince.size > 0) waitMs = Math.min(waitMs, CHECK_SOON_MS);
    // Without other nodes there is nothing to check; a node that starts sends a message.
    else if (!this.#isAlone) waitMs = Math.min(waitMs, CHECK_EVERY_MS);
    await this.#deps.clock.sleep(waitMs, this.#pauseAbort.signal).catch(() => undefined);
  }

  async #keepWatching(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(this.#untilLookMs(), signal).catch(() => undefined);
      for (const { lease } of this.#owned.values()) {
        if (!lease.isHeld()) lease.lose('the lease could not be renewed in time');
      }
      if (this.#untilRenewalMs() > 0) continue;
      this.#renewing ??= this.#renew().finally(() => {
        this.#renewing = undefined;
      });
    }
  }

  /** No lease ends before its renewal is due. */
  #untilLookMs(): number {
    const everyMs = Math.min(WATCH_EVERY_MS, this.#deps.ttlMs / 12);
    return this.#renewing === undefined ? Math.max(everyMs, this.#untilRenewalMs()) : everyMs;
  }

  #untilRenewalMs(): number {
    return this.#renewedAtMs + this.#heartbeatMs() - this.#deps.monotonicMs();
  }

  #heartbeatMs(): number {
    return this.#deps.ttlMs / 5;
  }

  async #checkCluster(): Promise<void> {
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

  async #renew(): Promise<void> {
    const askedAtMs = this.#deps.monotonicMs();
    const leases = [...this.#releasing, ...[...this.#owned.values()].map(({ lease }) => lease)];
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
    for (const { accountId, owner } of view.accounts) {
      const lease = this.#owned.get(accountId)?.lease;
      // A view may be older than the lease; its epoch is then smaller.
      if (lease && owner && owner.epoch > lease.epoch) lease.lose('another node took the account');
    }
    const known = new Set(view.accounts.map(({ accountId }) => accountId));
    for (const [accountId, { lease }] of this.#owned) {
      if (!known.has(accountId)) lease.lose('the account was deleted');
    }
  }

  async #takeInRank(account: AccountView, rank: number, seesItself: boolean): Promise<void> {
    const { accountId, availability, owner } = account;
    const { nodeId, leases, log, monotonicMs, connectedForMs } = this.#deps;
    if (this.#owned.has(accountId) || this.#leaving.has(accountId)) return;
    const isOwn = owner?.nodeId === nodeId;
    if (availability === 'owned' && !isOwn) {
      this.#freeSince.delete(accountId);
      return;
    }
    const sinceMs = this.#freeFor(accountId, `${availability} ${owner?.nodeId} ${owner?.epoch}`);
    const mustWaitMs = rank * RANK_DELAY_MS + (availability === 'dead-owner' && !isOwn ? DEAD_FOR_MS : 0);
    if (!isOwn && sinceMs < mustWaitMs) return;
    const fromDead = availability === 'dead-owner' && seesItself && connectedForMs() > SETTLED_AFTER_MS;
    const askedAtMs = monotonicMs();
    const wasOurs = this.#requested.has(accountId);
    // Before the answer, which may get lost.
    this.#requested.add(accountId);
    const lease = await leases.acquire(accountId, { fromDead, wasOurs });
    if (!lease) return;
    this.#freeSince.delete(accountId);
    log.info({ accountId, epoch: String(lease.epoch), before: owner?.nodeId }, 'account taken');
    const held: HeldLease = new HeldLease(lease, {
      leases,
      isTakeOver: owner !== undefined && !isOwn,
      safeMs: (this.#deps.ttlMs * 2) / 3,
      askedAtMs,
      monotonicMs,
      onLost: (reason) => this.#lose(held, reason),
    });
    await this.#connect(held);
  }

  /** How long the account can be taken in this way, in milliseconds. */
  #freeFor(accountId: string, key: string): number {
    const nowMs = this.#deps.monotonicMs();
    const seen = this.#freeSince.get(accountId);
    if (seen?.key === key) return nowMs - seen.sinceMs;
    this.#freeSince.set(accountId, { key, sinceMs: nowMs });
    return 0;
  }

  async #connect(lease: HeldLease): Promise<void> {
    const { connect, log } = this.#deps;
    const { accountId } = lease;
    try {
      const account = await connect(lease);
      this.#owned.set(accountId, { lease, account });
      if (lease.lostBecause !== undefined) this.#lose(lease, lease.lostBecause);
      else if (this.#isDraining) await this.#release(accountId);
    } catch (error) {
      log.error({ err: error, accountId }, 'cannot connect account, retrying');
      await this.#deps.leases.release(lease).catch(() => undefined);
    }
  }

  #lose(lease: HeldLease, reason: string): void {
    const { accountId, epoch } = lease;
    const own = this.#owned.get(accountId);
    // An earlier lease of the same account was lost, not the present one.
    if (own?.lease !== lease) return;
    this.#deps.log.warn({ accountId, epoch: String(epoch), reason }, 'account lost, disconnecting');
    void this.#leave(accountId, own.account.abandon());
    this.#owned.delete(accountId);
    this.checkNow();
  }

  async #release(accountId: string): Promise<void> {
    const own = this.#owned.get(accountId);
    if (!own) return;
    this.#owned.delete(accountId);
    this.#releasing.add(own.lease);
    const { leases, log, notifyOthers } = this.#deps;
    await this.#leave(
      accountId,
      (async () => {
        await own.account.stop().finally(() => this.#releasing.delete(own.lease));
        await leases.release(own.lease);
        log.info({ accountId, epoch: String(own.lease.epoch) }, 'account released');
        notifyOthers();
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
    if (accountId === undefined || !this.#owned.has(accountId)) return;
    this.#releasedAtMs = nowMs;
    void this.#release(accountId);
  }
}

const TAKEN = 'another node took the account';

interface HeldLeaseDeps {
  leases: Pick<AccountLeases, 'renew'>;
  /** Another node had the account before, and did not release it. */
  isTakeOver: boolean;
  /** How long after a renewal it may be used; less than the lease's time, so that this process stops before another one may start. */
  safeMs: number;
  /** Monotonic time before the lease was requested. */
  askedAtMs: number;
  monotonicMs(): number;
  onLost(reason: string): void;
}

/** A lease of this process, with its own view of whether it may still act under it. */
export class HeldLease implements Fence {
  readonly accountId: string;
  readonly owner: string;
  readonly epoch: bigint;
  readonly isTakeOver: boolean;
  /** Why it was lost; undefined while it is valid, and when only its time has expired. */
  lostBecause: string | undefined;
  readonly #deps: HeldLeaseDeps;
  #renewedAtMs: number;

  constructor(lease: Lease, deps: HeldLeaseDeps) {
    this.accountId = lease.accountId;
    this.owner = lease.owner;
    this.epoch = lease.epoch;
    this.isTakeOver = deps.isTakeOver;
    this.#deps = deps;
    this.#renewedAtMs = deps.askedAtMs;
  }

  isHeld(): boolean {
    const { monotonicMs, safeMs } = this.#deps;
    return this.lostBecause === undefined && monotonicMs() - this.#renewedAtMs < safeMs;
  }

  async verify(): Promise<void> {
    const { leases, monotonicMs } = this.#deps;
    const askedAtMs = monotonicMs();
    this.renewed(askedAtMs, await leases.renew([this]));
    if (!this.isHeld()) throw new LeaseLostError(this.accountId);
  }

  /** @param kept the accounts whose leases a renewal, requested at `askedAtMs` (monotonic), found valid */
  renewed(askedAtMs: number, kept: ReadonlySet<string>): void {
    if (kept.has(this.accountId)) this.#renewedAtMs = Math.max(this.#renewedAtMs, askedAtMs);
    else this.lose(TAKEN);
  }

  lose(reason: string): void {
    if (this.lostBecause !== undefined) return;
    this.lostBecause = reason;
    this.#deps.onLost(reason);
  }
}

/** How long a process must look dead before its accounts are taken: its connection may break and come back. */
const DEAD_FOR_MS = 300;
/** Each node with fewer accounts gets this long to take a free one first. */
const RANK_DELAY_MS = 250;

/** The number of WhatsApp accounts of each live node that does not drain. */
export function sharesOf(view: ClusterView): Map<string, number> {
  const shares = new Map<string, number>();
  for (const node of view.nodes) if (node.isAlive && !node.isDraining) shares.set(node.nodeId, 0);
  for (const { owner, availability, provider } of view.accounts) {
    if (provider) continue;
    const share = owner && availability === 'owned' ? shares.get(owner.nodeId) : undefined;
    if (owner && share !== undefined) shares.set(owner.nodeId, share + 1);
  }
  return shares;
}

/**
 * For each account that can be taken, the rank of this node: how many nodes should take it first. Nodes with fewer accounts
 * come first, then those with smaller names; each account counts for the node of rank 0. Pure.
 */
export function ranksOf(view: ClusterView, nodeId: string): Map<string, number> {
  const shares = sharesOf(view);
  const ranks = new Map<string, number>();
  for (const { accountId, availability, provider } of view.accounts) {
    if (availability === 'owned') continue;
    const order = [...shares].sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1)).map(([node]) => node);
    ranks.set(accountId, Math.max(0, order.indexOf(nodeId)));
    const first = order[0];
    if (first !== undefined && !provider) shares.set(first, (shares.get(first) ?? 0) + 1);
  }
  return ranks;
}

/**
 * An account that this node should release so that a node with fewer takes it; undefined when the shares are even or an
 * account has no node yet. Only the node with the most accounts releases one, so that one moves at a time. Pure.
 */
export function accountToGive(view: ClusterView, nodeId: string): string | undefined {
  if (view.accounts.some(({ availability }) => availability !== 'owned')) return undefined;
  const shares = sharesOf(view);
  const own = shares.get(nodeId) ?? 0;
  const fewest = Math.min(...shares.values());
  const isFullest = [...shares].every(([other, share]) => share < own || (share === own && other >= nodeId));
  if (!isFullest || own - fewest < 2) return undefined;
  return view.accounts.find(({ owner, provider }) => owner?.nodeId === nodeId && !provider)?.accountId;
}
