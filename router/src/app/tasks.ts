import { DEAD_FOR_MS } from '../core/cluster/chat-placement.ts';
import type { TaskFunctions, TaskStart } from '../core/tasks.ts';
import type { Feature, Kernel, Service } from '../feature.ts';
import type { Retention } from '../infra/db/upkeep/retention.ts';
import { DbosTasks } from '../infra/engine/dbos-tasks.ts';
import type { Part } from './database.ts';

/** How often one node searches for unfinished tasks of dead nodes, and for tasks that nobody started; also when a node dies. */
const RESUME_EVERY_MS = 60_000;
/** A task that waits for longer has lost its start to a crash. */
const FORGOTTEN_AFTER_MS = 30_000;

/** Tasks of a kind that one sweep starts; the next one continues. */
const MAX_SWEPT = 1_000;
/** Open tasks of which this process knows that they are started. */
const MAX_KNOWN = 10_000;

/** Long work that survives a crash. */
export function createTasks(
  { databaseUrl, postgres, nodeId, bus, logOf }: Kernel,
  functions: Partial<TaskFunctions>,
): DbosTasks {
  return new DbosTasks({
    databaseUrl,
    postgres,
    nodeId,
    functions,
    exclusively: (work) => bus.transport.exclusively(work),
    log: logOf('tasks'),
  });
}

/** The work of features in the background. Started, it continues unfinished durable tasks and removes old rows. */
export function createWork(
  service: Service,
  tasks: DbosTasks,
  features: readonly Feature[],
  retention: Pick<Retention, 'start' | 'stop'>,
): Part<undefined> {
  const { placement, clock, logOf } = service;
  const log = logOf('tasks');
  const stopping = new AbortController();
  /** Ids of open tasks that this process has started: they need no statement every minute. */
  const started = new Set<string>();
  const startOnce = async (task: TaskStart) => {
    if (started.has(task.id)) return;
    await tasks.start(task);
    if (started.size >= MAX_KNOWN) started.clear();
    started.add(task.id);
  };
  /** Every start is idempotent. @param waitedMs 0: a process has died just now */
  const resume = async (waitedMs: number) => {
    await tasks.resume((node) => placement.isCoordinator && placement.isExpired(node));
    if (!placement.isCoordinator) return;
    for (const feature of features) {
      try {
        for (const task of (await feature.openTasks?.(service, waitedMs, MAX_SWEPT)) ?? [])
          await startOnce(task);
      } catch (error) {
        log.warn({ err: error, feature: feature.name }, 'cannot start open tasks, retrying');
      }
    }
  };
  const keepResuming = async () => {
    let death = new AbortController();
    placement.listen(() => death.abort());
    // The first time: this node's earlier process.
    for (let waitedMs = 0; !stopping.signal.aborted; ) {
      await resume(waitedMs);
      const signal = AbortSignal.any([stopping.signal, death.signal]);
      await clock.sleep(RESUME_EVERY_MS, signal).catch(() => undefined);
      waitedMs = death.signal.aborted ? 0 : FORGOTTEN_AFTER_MS;
      if (!death.signal.aborted) continue;
      death = new AbortController();
      await clock.sleep(2 * DEAD_FOR_MS, stopping.signal).catch(() => undefined);
    }
  };
  const stops: Array<() => Promise<void>> = [];
  let resuming: Promise<void> | undefined;
  return {
    parts: undefined,
    start: async () => {
      resuming = keepResuming();
      retention.start();
      for (const feature of features) {
        const stop = feature.start?.(service);
        if (stop) stops.push(stop);
      }
    },
    stop: async () => {
      stopping.abort();
      for (const stop of stops.reverse()) await stop();
      await retention.stop();
      await resuming;
      await tasks.stop();
    },
  };
}
