import type { DeadLetterFilter, DeadLetters, Replay } from '../ports/dead-letters.ts';
import type { TaskResult, TaskSteps } from '../ports/durable-tasks.ts';
import type { QueuedReply } from '../ports/inbox.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';

export interface ReplayDeps {
  deadLetters: DeadLetters;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;
  deliver(reply: QueuedReply): void;
}

/**
 * Replays a dead letter: its message is routed by the table as it is now, or its reply is sent again.
 * @throws {StorageUnavailableError} nothing was changed
 */
export async function replayDeadLetter(deps: ReplayDeps, id: string): Promise<Replay['outcome']> {
  const replay = await deps.deadLetters.replay(id, deps.workers.nodeForNextChat());
  if ('reply' in replay) deps.deliver(replay.reply);
  else if (replay.outcome === 'replayed') deps.workers.serve(replay.worker, !replay.isNewWorker);
  return replay.outcome;
}

/**
 * Replays the open letters of a filter, oldest first, so that messages of one chat keep their order.
 * @returns how many were replayed, and whether `limit` left more of them
 * @throws {StorageUnavailableError} the letters before the failure were replayed; call again for the rest
 */
export async function replayDeadLetters(
  deps: ReplayDeps,
  filter: DeadLetterFilter,
  limit: number,
): Promise<{ replayed: number; hasMore: boolean }> {
  const ids = await deps.deadLetters.open(filter, limit + 1);
  let replayed = 0;
  for (const id of ids.slice(0, limit)) {
    if ((await replayDeadLetter(deps, id)) === 'replayed') replayed += 1;
  }
  return { replayed, hasMore: ids.length > limit };
}

/** Dead letters of one task, and of one of its steps. */
const MAX_REPLAYED = 10_000;
const STEP_SIZE = 100;

/**
 * Replays the dead letters that match a filter now, as a durable task: those that fail again meanwhile are not replayed
 * twice. More than 10,000 are left for another task.
 */
export async function replayAllDeadLetters(
  deps: ReplayDeps,
  steps: TaskSteps,
  filter: DeadLetterFilter,
): Promise<TaskResult<'replay-dead-letters'>> {
  const ids = await steps.run('collect', () => deps.deadLetters.open(filter, MAX_REPLAYED));
  let replayed = 0;
  for (let start = 0; start < ids.length; start += STEP_SIZE) {
    replayed += await steps.run(`replay from ${start}`, async () => {
      let count = 0;
      for (const id of ids.slice(start, start + STEP_SIZE)) {
        if ((await replayDeadLetter(deps, id)) === 'replayed') count += 1;
      }
      return count;
    });
  }
  return { replayed };
}
