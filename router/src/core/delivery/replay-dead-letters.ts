import type { DeadLetterFilter, DeadLetters, Replay } from '../ports/dead-letters.ts';
import type { QueuedReply } from '../ports/inbox.ts';

export interface ReplayDeps {
  deadLetters: DeadLetters;
  startLoop(loop: { chatId: string; epoch: number }): void;
  /** Tells the loop that runs on a chat that there is a message. */
  wakeLoop(chatId: string): void;
  deliver(reply: QueuedReply): void;
}

/**
 * Takes a dead letter up again and sets it going. The message is routed anew, by the table as it is now.
 * @throws {StorageUnavailableError} nothing was changed
 */
export async function replayDeadLetter(deps: ReplayDeps, id: string): Promise<Replay['outcome']> {
  const replay = await deps.deadLetters.replay(id);
  if ('reply' in replay) deps.deliver(replay.reply);
  else if (replay.outcome === 'replayed') {
    if (replay.startLoop) deps.startLoop(replay.startLoop);
    else deps.wakeLoop(replay.chatId);
  }
  return replay.outcome;
}

/**
 * Replays the open letters of a filter, oldest first, so that messages of one chat keep their order.
 * @returns how many were taken up, and whether `limit` left more of them
 * @throws {StorageUnavailableError} those before the failure were taken up; call again for the rest
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
