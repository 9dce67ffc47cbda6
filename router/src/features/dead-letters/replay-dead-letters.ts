import type { ChatWorkers } from '../../core/turns/chat-workers.ts';
import type { QueuedReply } from '../../core/turns/turn.ts';
import type { DeadLetterFilter, DeadLetters, Replay } from './dead-letters.ts';

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

/** The result of one call of `replayDeadLetters`; `next`: there are more letters than `limit`, after this id. */
export interface BulkReplay {
  replayed: number;
  hasMore: boolean;
  next?: string;
}

/**
 * Replays the open letters of a filter, oldest first, so that messages of one chat keep their order. Calls with `next` as
 * `after` reach each letter at most once: one that fails again meanwhile keeps its id, which is not after `next`.
 * @throws {StorageUnavailableError} the letters before the failure were replayed; call again for the rest
 */
export async function replayDeadLetters(
  deps: ReplayDeps,
  filter: DeadLetterFilter,
  limit: number,
): Promise<BulkReplay> {
  const ids = await deps.deadLetters.open(filter, limit + 1);
  const hasMore = ids.length > limit;
  let replayed = 0;
  for (const id of ids.slice(0, limit)) {
    if ((await replayDeadLetter(deps, id)) === 'replayed') replayed += 1;
  }
  return { replayed, hasMore, ...(hasMore && { next: ids[limit - 1] }) };
}
