import { setTimeout as wait } from 'node:timers/promises';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { StorageUnavailableError } from '../../core/errors.ts';
import type { Inbox } from '../../core/ports/inbox.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { DbosTakeover } from './dbos-takeover.ts';
import type { Loop, TurnSharing } from './turn-sharing.ts';

/** Changes when the steps of the turn loop change: workflows of another version are not recovered by this one. */
const WORKFLOW_VERSION = 'turns-1';
/** A loop that never finds its chat idle hands over to a fresh one, so that no workflow collects steps for ever. */
const TURNS_PER_LOOP = 50;
const SWEEP_EVERY_MS = 5_000;
const TAKE_OVER_EVERY_MS = 1_000;
/** Waits between tries while the database is away, in milliseconds. */
const STORAGE_RETRY_MS = 500;

export interface TurnEngineDeps {
  databaseUrl: string;
  /** Stable name of this node: only the same name resumes its work after a restart. */
  nodeId: string;
  inbox: Pick<Inbox, 'openLoops' | 'renewLoop'>;
  /** One turn of a chat (core's answerNext); `isRepeat` after a crash that may have cut off the same turn. */
  answerNext(chatId: string, epoch: number, isRepeat: boolean): Promise<'answered' | 'idle'>;
  log: Logger;
  /** How often chats with unanswered messages and no live loop are looked for, in milliseconds; default 5,000. */
  sweepEveryMs?: number;
  /** Aborted when the service stops; a turn that ends because of it is not recorded and is taken up again later. */
  stopping: AbortSignal;
  /** Set when other nodes may run turns too; without it this process is the only one. */
  shared?: { sharing: TurnSharing; takeover: DbosTakeover };
}

/**
 * Runs the turn loops of chats on DBOS: one durable workflow a chat while it has something to answer, started directly
 * (a queue would have to be polled), resumed after a crash, found again by a sweep. The order of turns is the inbox's.
 */
export class TurnEngine {
  readonly #deps: TurnEngineDeps;
  readonly #loop: (chatId: string, epoch: number) => Promise<void>;
  #sweepTimer: NodeJS.Timeout | undefined;
  #takeOverTimer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  /** Loops that this process started: their first turn is no repeat, that of a recovered loop may be one. */
  readonly #startedHere = new Set<string>();
  #draining = false;
  #running = 0;
  #loops = 0;
  #idle: (() => void) | undefined;

  constructor(deps: TurnEngineDeps) {
    this.#deps = deps;
    this.#loop = DBOS.registerWorkflow((chatId: string, epoch: number) => this.#turnLoop(chatId, epoch), {
      name: 'turnLoop',
      // A message that happens to be there at each crash must not park its chat; it is bounded by its own attempts.
      maxRecoveryAttempts: 1_000,
    });
  }

  /** Connects DBOS to the database (its own schema `dbos`), resumes what this node left, starts the sweep. */
  async start(): Promise<void> {
    const { databaseUrl, nodeId } = this.#deps;
    DBOS.setConfig({
      name: 'wa2ai',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePoolSize: 8,
      executorID: nodeId,
      applicationVersion: WORKFLOW_VERSION,
      notificationCoalesceMs: 1_000,
      logger: dbosLogger(this.#deps.log.child({ mod: 'dbos' })),
    });
    await DBOS.launch();
    await this.#sweep();
    this.#sweepTimer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.#sweep());
    }, this.#deps.sweepEveryMs ?? SWEEP_EVERY_MS);
    this.#sweepTimer.unref();
    if (!this.#deps.shared) return;
    this.#takeOverTimer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.#takeOverFromDead());
    }, TAKE_OVER_EVERY_MS);
    this.#takeOverTimer.unref();
  }

  /** Turn loops that run in this process. */
  get loops(): number {
    return this.#loops;
  }

  /**
   * Starts the loop of a chat without waiting for it, here or on a node that has clearly fewer. The same epoch started
   * twice runs once.
   */
  startLoop(loop: Loop): void {
    if (this.#deps.shared?.sharing.giveAway(loop, this.#loops)) return;
    this.startLoopHere(loop);
  }

  /** Starts the loop in this process: another node gave it away. */
  startLoopHere(loop: Loop): void {
    if (this.#draining) return;
    this.#start(loop).catch((error: unknown) => {
      this.#deps.log.warn({ err: error, chatId: loop.chatId }, 'turn loop not started; the sweep starts it');
    });
  }

  /**
   * Stops taking turns. Turns under way get `graceMs` to end; what is left goes on at another node, or here after the
   * next start. The stopping signal must be aborted by the caller when the grace is over.
   */
  async stop(graceMs: number): Promise<void> {
    this.#draining = true;
    clearInterval(this.#sweepTimer);
    clearInterval(this.#takeOverTimer);
    await this.#sweeping;
    if (this.#running > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
      const grace = new AbortController();
      await Promise.race([idle, wait(graceMs, undefined, { signal: grace.signal })]);
      grace.abort();
    }
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
  }

  async #start({ chatId, epoch }: { chatId: string; epoch: number }): Promise<void> {
    const workflowID = loopId(chatId, epoch);
    this.#startedHere.add(workflowID);
    try {
      await DBOS.startWorkflow(this.#loop, { workflowID })(chatId, epoch);
    } catch (error) {
      this.#startedHere.delete(workflowID);
      throw error;
    }
  }

  async #turnLoop(chatId: string, epoch: number): Promise<void> {
    this.#loops++;
    try {
      await this.#takeTurns(chatId, epoch);
    } finally {
      this.#loops--;
    }
  }

  async #takeTurns(chatId: string, epoch: number): Promise<void> {
    let isRepeat = !this.#startedHere.delete(loopId(chatId, epoch));
    for (let turn = 1; turn <= TURNS_PER_LOOP; turn++) {
      // Steps that a recovered loop has behind it are not run again: the first one that runs is the one cut off.
      const outcome = await DBOS.runStep(
        () =>
          this.#turn(chatId, epoch, isRepeat).finally(() => {
            isRepeat = false;
          }),
        { name: 'turn' },
      );
      if (outcome === 'idle') return;
    }
    const next = await DBOS.runStep(() => this.#deps.inbox.renewLoop(chatId, epoch), { name: 'renew' });
    if (next !== undefined) await this.#start({ chatId, epoch: next });
  }

  async #turn(chatId: string, epoch: number, isRepeat: boolean): Promise<'answered' | 'idle'> {
    if (this.#draining) return this.#leave(chatId, epoch);
    this.#running++;
    const outcome = await this.#answerWhenStored(chatId, epoch, isRepeat).finally(() => {
      this.#running--;
      if (this.#running === 0) this.#idle?.();
    });
    return outcome === 'stopped' ? neverEnds() : outcome;
  }

  /** Between two turns of a node that stops: the chat goes on elsewhere at once, or waits for the next start. */
  async #leave(chatId: string, epoch: number): Promise<'idle'> {
    const { shared, inbox } = this.#deps;
    if (!shared?.sharing.hasOthers) return neverEnds();
    const next = await inbox.renewLoop(chatId, epoch);
    if (next !== undefined) shared.sharing.giveAway({ chatId, epoch: next }, 0, Number.NEGATIVE_INFINITY);
    return 'idle';
  }

  /** One turn; waits out a database that is away, because nothing can be noted without it. */
  async #answerWhenStored(
    chatId: string,
    epoch: number,
    isRepeat: boolean,
  ): Promise<'answered' | 'idle' | 'stopped'> {
    const { answerNext, stopping, log } = this.#deps;
    for (;;) {
      try {
        return await answerNext(chatId, epoch, isRepeat);
      } catch (error) {
        if (stopping.aborted) return 'stopped';
        if (!(error instanceof StorageUnavailableError)) throw error;
        log.warn({ err: error, chatId }, 'database is away; the turn waits for it');
        await wait(STORAGE_RETRY_MS);
        // The agent may have answered before the database went away.
        isRepeat = true;
      }
    }
  }

  /** Finds chats whose loop was lost (a crash between commit and start, a workflow that failed) and starts one. */
  async #sweep(): Promise<void> {
    if (this.#deps.shared && !this.#deps.shared.sharing.isLookout) return;
    try {
      for (const { chatId, epoch } of await this.#deps.inbox.openLoops()) {
        if (this.#draining) return;
        const status = await DBOS.getWorkflowStatus(loopId(chatId, epoch));
        if (status === null) {
          await this.#start({ chatId, epoch });
        } else if (!['PENDING', 'ENQUEUED', 'DELAYED'].includes(status.status)) {
          const next = await this.#deps.inbox.renewLoop(chatId, epoch);
          this.#deps.log.warn(
            { chatId, status: status.status },
            'turn loop had ended early; a new one takes over',
          );
          if (next !== undefined) await this.#start({ chatId, epoch: next });
        }
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'sweep for unanswered chats failed; it is tried again');
    }
  }

  /** What nodes that are gone had under way goes on at those that live; repeated, because one of them may die over it. */
  async #takeOverFromDead(): Promise<void> {
    const { shared, log } = this.#deps;
    if (!shared?.sharing.isLookout || this.#draining) return;
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

function loopId(chatId: string, epoch: number): string {
  return `chat:${chatId}:${epoch}`;
}

/**
 * A step that ends would be recorded, and its workflow with it. At shutdown the turn must stay open for the next start,
 * so its step waits until the process is gone.
 */
function neverEnds(): Promise<never> {
  return new Promise(() => undefined);
}

/** DBOS logs through the service's logger, at debug: an operator acts on wa2ai's own sentences. */
function dbosLogger(log: Logger) {
  const text = (entry: unknown) => (entry instanceof Error ? entry.message : String(entry));
  return {
    info: (entry: unknown) => log.debug({}, text(entry)),
    debug: (entry: unknown) => log.trace({}, text(entry)),
    warn: (entry: unknown) => log.warn({}, text(entry)),
    error: (entry: unknown) => log.error({}, text(entry)),
  };
}
