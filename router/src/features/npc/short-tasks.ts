import { isRetryable } from '../../core/errors.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { listChainEvents } from './chain-follower.ts';
import { NpcError } from './json-rpc.ts';
import type { NpcScope } from './memories.ts';
import { type NpcCapabilityDeps, performEmotion, performMemory, performTrade } from './npc-capabilities.ts';
import type { NpcChain, NpcChainEvents } from './npc-chain.ts';
import type { NpcFaceSettings } from './npc-settings.ts';
import { NOT_PERFORMED, type NpcTask, type NpcTaskEnd, type NpcTasks, peerOf } from './npc-tasks.ts';
import { isChainTask } from './perform-chain-task.ts';

/** Tasks that may wait on a node. Further ones stay stored, and are started by `startOpenTasks`. */
const MAX_WAITING = 1_000;
/** Tasks whose ends are stored together. */
const MAX_TOGETHER = 16;

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

/** Whether a task only adds a memory. Several of them need no order, so that one statement can add all. */
function addsMemory({ type, params: { action } }: NpcTask): boolean {
  return type === 'memory' && action !== 'recall' && action !== 'forget';
}

/** Cuts tasks into groups to perform one after the other; the tasks of one group are performed at the same time. */
function groupsOf(tasks: readonly NpcTask[]): NpcTask[][] {
  const groups: NpcTask[][] = [];
  let before: NpcTask | undefined;
  for (const task of tasks) {
    if (before && addsMemory(before) && addsMemory(task)) groups.at(-1)?.push(task);
    else groups.push([task]);
    before = task;
  }
  return groups;
}

/**
 * Performs short tasks in the order in which they were added, so that they do not slow down the calls that open more.
 * Neighbours that only add a memory are performed at the same time. The stored task is all that a crash needs: its effect
 * is safe to repeat, so that a workflow would only add statements.
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
    while (this.#waiting.length > 0) {
      const ending: Promise<void>[] = [];
      for (const group of groupsOf(this.#waiting.splice(0, MAX_TOGETHER))) {
        if (this.#isStopped) break;
        const performed = await Promise.all(group.map((task) => this.#perform(task)));
        // The next effect does not wait until this end is stored.
        ending.push(...performed.map((finish) => finish()));
      }
      await Promise.all(ending);
    }
  }

  /** @returns stores the end of the task; never rejects */
  async #perform(task: NpcTask): Promise<() => Promise<void>> {
    const log = this.#deps.log.child({ task: task.taskId });
    const retry = (error: unknown) => log.warn({ err: error }, 'npc task not performed, retrying');
    try {
      const end = await this.#endOf(task, log);
      return async () => {
        try {
          await this.#deps.npcTasks.finish(task.taskId, end);
          log.info({ status: end.status }, 'npc task ended');
        } catch (error) {
          retry(error);
        }
      };
    } catch (error) {
      retry(error);
      return async () => undefined;
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
