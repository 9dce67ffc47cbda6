import { setTimeout as wait } from 'node:timers/promises';
import { DBOS } from '@dbos-inc/dbos-sdk';
import type pg from 'pg';
import { StorageUnavailableError } from '../../core/errors.ts';
import { LogThrottle } from '../../core/log-throttle.ts';
import type { Inbox } from '../../core/ports/inbox.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { createPostgresPool } from '../storage/connections/postgres-pool.ts';
import type { DbosTakeover } from './dbos-takeover.ts';
import { LoopSweep, loopId } from './loop-sweep.ts';
import type { Loop, TurnSharing } from './turn-sharing.ts';

/** Changes when the steps of the turn loop change: workflows of another version are not recovered by this one. */
const WORKFLOW_VERSION = 'turns-1';
/**
 * A loop waits this long for the chat's next message before it ends. Starting and ending a workflow costs some 16
 * statements, a message in a running loop none beyond its own: a lively chat is served by one loop.
 */
const LINGER_MS = 5_000;
/** How often chats with unanswered messages and no live loop are looked for. */
const SWEEP_EVERY_MS = 5_000;
const TAKE_OVER_EVERY_MS = 1_000;
/** A workflow started here begins at once; one that another node has begun under the same name never does. */
const BEGINS_WITHIN_MS = 2_000;
/** A transaction that DBOS leaves idle, in a hung process, holds its rows no longer than that. */
const POOL = {
  name: 'wa2ai turns',
  size: 8,
  connectTimeoutMs: 10_000,
  settings: "SET idle_in_transaction_session_timeout TO '60s'",
};
/** Waits between tries while the database is away, in milliseconds. */
const STORAGE_RETRY_MS = { first: 500, longest: 5_000 };

/** One turn of a loop, as core's answerNext takes it. */
export interface LoopTurn {
  chatId: string;
  epoch: number;
  /** A crash may have cut off the same turn. */
  isRepeat: boolean;
  /** An idle chat keeps its loop. */
  keepOpen: boolean;
}

export interface TurnEngineDeps {
  databaseUrl: string;
  /** Stable name of this node: only the same name resumes its work after a restart. */
  nodeId: string;
  inbox: Pick<Inbox, 'openLoops' | 'renewLoop' | 'nextTurn'>;
  /** One turn of a chat (core's answerNext). */
  answerNext(turn: LoopTurn): Promise<'answered' | 'answered-last' | 'idle'>;
  log: Logger;
  /** How long an idle loop waits for the chat's next message, in milliseconds; default 5,000. */
  lingerMs?: number;
  /** How often chats with unanswered messages and no live loop are looked for, in milliseconds; default 5,000. */
  sweepEveryMs?: number;
  /** Aborted when the service stops; a turn that ends because of it is not recorded and is taken up again later. */
  stopping: AbortSignal;
  /** Set when other nodes may run turns too; without it this process is the only one. */
  shared?: { sharing: TurnSharing; takeover: DbosTakeover };
}

/** A loop that runs in this process. */
interface Lane {
  /** A message came since the inbox was last asked. */
  isWoken: boolean;
  /** Ends the loop's wait for a message. */
  wake: () => void;
}

/**
 * Runs the turn loops of chats on DBOS: one durable workflow a chat while it has something to answer, started directly
 * (a queue would have to be polled), resumed after a crash, found again by a sweep. The order of turns is the inbox's.
 * A loop is one step: what it has done is in the inbox and the outbox, so a loop that runs again goes on from there.
 */
export class TurnEngine {
  readonly #deps: TurnEngineDeps;
  readonly #loop: (chatId: string, epoch: number) => Promise<void>;
  /** Loops that this process started: their first turn is no repeat, that of a recovered loop may be one. */
  readonly #startedHere = new Set<string>();
  readonly #lanes = new Map<string, Lane>();
  readonly #sweep: LoopSweep;
  /** DBOS's connections. */
  #pool: pg.Pool | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #takeOverTimer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #isDraining = false;
  /** Loops that are neither ended nor parked. */
  #busy = 0;
  /** Turns under way: loops that do not wait for their chat's next message. */
  #turns = 0;
  #quiet: (() => void) | undefined;

  constructor(deps: TurnEngineDeps) {
    this.#deps = deps;
    const { nodeId, inbox, log, shared } = deps;
    this.#sweep = new LoopSweep({
      nodeId,
      inbox,
      log,
      isLookout: () => !shared || shared.sharing.isLookout,
      isHere: (loop) => this.#lanes.has(loop.chatId) || this.#startedHere.has(loopId(loop)),
      start: (loop) => this.#start(loop),
    });
    this.#loop = DBOS.registerWorkflow(
      async (chatId: string, epoch: number) => {
        await DBOS.runStep(() => this.#answerAll(chatId, epoch), { name: 'answerAll' });
      },
      {
        name: 'turnLoop',
        // A message that happens to be there at each crash must not park its chat; it is bounded by its own attempts.
        maxRecoveryAttempts: 1_000,
      },
    );
  }

  /** Connects DBOS to the database (its own schema `dbos`), resumes what this node left, starts the sweep. */
  async start(): Promise<void> {
    const { databaseUrl, nodeId, sweepEveryMs = SWEEP_EVERY_MS } = this.#deps;
    this.#pool = createPostgresPool(databaseUrl, POOL);
    DBOS.setConfig({
      name: 'wa2ai',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePool: this.#pool,
      executorID: nodeId,
      applicationVersion: WORKFLOW_VERSION,
      notificationCoalesceMs: 1_000,
      logger: dbosLogger(this.#deps.log.child({ mod: 'dbos' })),
    });
    await DBOS.launch();
    const isStopping = () => this.#isDraining;
    await this.#sweep.run(isStopping);
    this.#sweepTimer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.#sweep.run(isStopping));
    }, sweepEveryMs);
    this.#sweepTimer.unref();
    if (!this.#deps.shared) return;
    this.#takeOverTimer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.#takeOverFromDead());
    }, TAKE_OVER_EVERY_MS);
    this.#takeOverTimer.unref();
  }

  /** Turns that run in this process or are about to. */
  get turns(): number {
    return this.#turns + this.#startedHere.size;
  }

  /**
   * Starts the loop of a chat without waiting for it, here or on a node that has clearly fewer. The same epoch started
   * twice runs once.
   */
  startLoop(loop: Loop): void {
    if (this.#deps.shared?.sharing.giveAway(loop, this.turns)) return;
    this.startLoopHere(loop);
  }

  /** Starts the loop in this process: another node gave it away. */
  startLoopHere(loop: Loop): void {
    if (this.#isDraining) return;
    this.#start(loop).catch((error: unknown) => {
      this.#deps.log.warn({ err: error, chatId: loop.chatId }, 'turn loop not started; the sweep starts it');
    });
  }

  /** A message came for a chat whose loop runs. @returns false: it does not run here */
  wakeLoop(chatId: string): boolean {
    const lane = this.#lanes.get(chatId);
    if (!lane) return false;
    lane.isWoken = true;
    lane.wake();
    return true;
  }

  /**
   * Stops taking turns. Turns under way get `graceMs` to end; what is left goes on at another node, or here after the
   * next start. The stopping signal must be aborted by the caller when the grace is over.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#sweepTimer);
    clearInterval(this.#takeOverTimer);
    for (const lane of this.#lanes.values()) lane.wake();
    await this.#sweeping;
    if (this.#busy === 0) return;
    const quiet = new Promise<void>((resolve) => {
      this.#quiet = resolve;
    });
    const grace = new AbortController();
    await Promise.race([quiet, wait(graceMs, undefined, { signal: grace.signal })]);
    grace.abort();
  }

  /** Disconnects DBOS and forgets its registrations, so that a process can make another engine; after `stop`. */
  async close(): Promise<void> {
    const { shared, nodeId, log } = this.#deps;
    if (shared?.sharing.hasOthers) {
      await shared.takeover.handOver(nodeId).catch((error: unknown) => {
        log.warn({ err: error }, 'turns under way were not handed over; another node finds them');
      });
    }
    await DBOS.shutdown({ deregister: true });
    await this.#pool?.end();
  }

  async #start({ chatId, epoch }: { chatId: string; epoch: number }): Promise<void> {
    const workflowID = loopId({ chatId, epoch });
    this.#startedHere.add(workflowID);
    try {
      await DBOS.startWorkflow(this.#loop, { workflowID })(chatId, epoch);
      // Begun by now, unless another node has begun the same one.
      setTimeout(() => this.#startedHere.delete(workflowID), BEGINS_WITHIN_MS).unref();
    } catch (error) {
      this.#startedHere.delete(workflowID);
      throw error;
    }
  }

  /** Answers a chat until it was idle for a while; parks when the service stops, so that nothing is recorded. */
  async #answerAll(chatId: string, epoch: number): Promise<void> {
    const isRepeat = !this.#startedHere.delete(loopId({ chatId, epoch }));
    const lane: Lane = { isWoken: false, wake: () => undefined };
    this.#lanes.set(chatId, lane);
    this.#busy++;
    const end = await this.#serve({ chatId, epoch, isRepeat, keepOpen: true }, lane).finally(() => {
      if (this.#lanes.get(chatId) === lane) this.#lanes.delete(chatId);
      this.#busy--;
      if (this.#busy === 0) this.#quiet?.();
    });
    if (end === 'stopped') await neverEnds();
  }

  async #serve(first: LoopTurn, lane: Lane): Promise<'closed' | 'stopped'> {
    let turn = first;
    for (;;) {
      if (this.#isDraining) return this.#leave(turn);
      lane.isWoken = false;
      const outcome = await this.#answerWhenStored(turn);
      if (outcome === 'stopped') return 'stopped';
      if (outcome === 'idle' && !turn.keepOpen) return 'closed';
      // A message that came meanwhile has woken the lane, so there is no need to look after the last one. The look after
      // the wait closes the loop in the same transaction that finds nothing: no message can slip between.
      const keepOpen = outcome === 'answered' || (await this.#isWokenInTime(lane));
      turn = { ...turn, isRepeat: false, keepOpen };
    }
  }

  #isWokenInTime(lane: Lane): Promise<boolean> {
    if (lane.isWoken || this.#isDraining) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.#deps.lingerMs ?? LINGER_MS);
      timer.unref();
      lane.wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Between two turns of a service that stops: the chat goes on elsewhere at once, or waits for the next start. */
  async #leave({ chatId, epoch }: LoopTurn): Promise<'closed' | 'stopped'> {
    const { shared, inbox } = this.#deps;
    try {
      if (!shared?.sharing.hasOthers) return (await inbox.nextTurn(chatId, epoch)) ? 'stopped' : 'closed';
      const next = await inbox.renewLoop(chatId, epoch);
      if (next !== undefined) {
        shared.sharing.giveAway({ chatId, epoch: next }, 0, Number.NEGATIVE_INFINITY);
      }
      return 'closed';
    } catch {
      return 'stopped';
    }
  }

  /** One turn; waits out a database that is away, because nothing can be noted without it. */
  async #answerWhenStored(first: LoopTurn): Promise<'answered' | 'answered-last' | 'idle' | 'stopped'> {
    const { answerNext, stopping, log } = this.#deps;
    let turn = first;
    for (let attempt = 1; ; attempt++) {
      this.#turns++;
      try {
        return await answerNext(turn);
      } catch (error) {
        if (stopping.aborted) return 'stopped';
        if (!(error instanceof StorageUnavailableError)) throw error;
        // One that is away for hours, with many chats waiting, is told with the logarithm of its absence.
        if (Number.isInteger(Math.log2(attempt))) {
          log.warn({ err: error, chatId: turn.chatId, attempt }, 'database is away; the turn waits for it');
        }
        const waitMs = Math.min(STORAGE_RETRY_MS.first * attempt, STORAGE_RETRY_MS.longest);
        await wait(waitMs, undefined, { signal: stopping }).catch(() => undefined);
        // The agent may have answered before the database went away.
        turn = { ...turn, isRepeat: true };
      } finally {
        this.#turns--;
      }
    }
  }

  /** What nodes that are gone had under way goes on at those that live; repeated, because one of them may die over it. */
  async #takeOverFromDead(): Promise<void> {
    const { shared, log } = this.#deps;
    if (!shared?.sharing.isLookout || this.#isDraining) return;
    try {
      const dead = shared.sharing.deadAmong(await shared.takeover.busyExecutors());
      if (dead.length === 0) return;
      const turns = await shared.takeover.takeOver(dead);
      if (turns > 0) log.warn({ nodes: dead, turns }, 'turns of nodes that are gone were taken over');
    } catch (error) {
      log.warn({ err: error }, 'turns of other nodes could not be looked after; it is tried again');
    }
  }
}

/**
 * A step that ends would be recorded, and its workflow with it. At shutdown the loop must stay open for the next start,
 * so its step waits until the process is gone.
 */
function neverEnds(): Promise<never> {
  return new Promise(() => undefined);
}

/** DBOS logs through the service's logger, at debug: an operator acts on wa2ai's own sentences. */
function dbosLogger(log: Logger) {
  const text = (entry: unknown) => (entry instanceof Error ? entry.message : String(entry));
  const throttle = new LogThrottle();
  const complain = (level: 'warn' | 'error', entry: unknown) => {
    const sentence = text(entry);
    // Its first words are the same each time; numbers and causes come behind.
    const times = throttle.count(/^[^:\d]*/.exec(sentence)?.[0] ?? '');
    if (times !== undefined) log[level](times > 1 ? { times } : {}, sentence);
  };
  return {
    info: (entry: unknown) => log.debug({}, text(entry)),
    debug: (entry: unknown) => log.trace({}, text(entry)),
    warn: (entry: unknown) => complain('warn', entry),
    error: (entry: unknown) => complain('error', entry),
  };
}
