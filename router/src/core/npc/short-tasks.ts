import { isRetryable } from '../errors.ts';
import type { Logger } from '../ports/logger.ts';
import type { NpcChain } from '../ports/npc-chain.ts';
import type { NpcChainEvents } from '../ports/npc-chain-events.ts';
import type { NpcScope } from '../ports/npc-emotions.ts';
import type { NpcTasks } from '../ports/npc-tasks.ts';
import { listChainEvents } from './chain-events.ts';
import { isChainTask } from './chain-task.ts';
import { type NpcCapabilityDeps, performEmotion, performMemory, performTrade } from './npc-capabilities.ts';
import { NpcError } from './npc-error.ts';
import type { NpcFaceSettings } from './npc-settings.ts';
import { NOT_PERFORMED, type NpcTask, type NpcTaskEnd, peerOf } from './npc-task.ts';

/** Tasks that may wait on a node. Further ones stay stored, and are started by `startOpenTasks`. */
const MAX_WAITING = 1_000;

export interface ShortTaskDeps extends NpcCapabilityDeps {
  npcTasks: Pick<NpcTasks, 'finish'>;
  chainEvents: NpcChainEvents;
  /** Undefined: there are no chain settings. */
  chain(): Promise<NpcChain | undefined>;
  settings(): Promise<NpcFaceSettings>;
  log: Logger;
}

type Perform = (deps: ShortTaskDeps, scope: NpcScope, task: NpcTask) => Promise<Record<string, unknown>>;

const CAPABILITIES: Readonly<Record<string, Perform>> = {
  emotion: performEmotion,
  memory: performMemory,
  trade: performTrade,
  // Only their action `list`: the others are transactions.
  duel: (deps, _scope, task) => listChainEvents(deps, task),
  quest: (deps, _scope, task) => listChainEvents(deps, task),
};

/** Tasks of one effect in the database, which is safe to repeat. */
export function isShortTask(task: Pick<NpcTask, 'type' | 'params'>): boolean {
  return Object.hasOwn(CAPABILITIES, task.type) && !isChainTask(task);
}

/**
 * Performs short tasks, one at a time, so that they do not slow down the calls that open more. The stored task is all that
 * a crash needs: its effect is safe to repeat, so that a workflow would only add statements.
 */
export class ShortTasks {
  readonly #deps: ShortTaskDeps;
  readonly #waiting: NpcTask[] = [];
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: ShortTaskDeps) {
    this.#deps = deps;
  }

  /** Performs a stored task soon. A task that cannot be performed now stays `pending`. */
  add(task: NpcTask): void {
    if (this.#isStopped || this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(task);
    this.#running ??= this.#performAll().finally(() => {
      this.#running = undefined;
    });
  }

  /** Ends the task that runs; those that wait stay `pending`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #performAll(): Promise<void> {
    for (let task = this.#waiting.shift(); task; task = this.#waiting.shift()) {
      if (!this.#isStopped) await this.#perform(task);
    }
  }

  async #perform(task: NpcTask): Promise<void> {
    const log = this.#deps.log.child({ task: task.taskId });
    try {
      const end = await this.#endOf(task, log);
      await this.#deps.npcTasks.finish(task.taskId, end);
      log.info({ status: end.status }, 'npc task ended');
    } catch (error) {
      log.warn({ err: error }, 'npc task not performed, retrying');
    }
  }

  /** @throws errors with disposition `retry` */
  async #endOf(task: NpcTask, log: Logger): Promise<NpcTaskEnd> {
    try {
      const perform = CAPABILITIES[task.type];
      if (!perform) throw new TypeError(`${task.type} is no short task`);
      const { name } = await this.#deps.settings();
      return {
        status: 'completed',
        result: await perform(this.#deps, { npc: name, peer: peerOf(task) }, task),
      };
    } catch (error) {
      if (error instanceof NpcError) return { status: 'failed', error: error.body };
      if (isRetryable(error)) throw error;
      log.error({ err: error }, 'npc task failed');
      return NOT_PERFORMED;
    }
  }
}
