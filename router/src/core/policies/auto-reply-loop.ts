import type { ChatHistory, EarlierTurn } from '../ports/chat-history.ts';

/** When a chat counts as two programs answering each other. */
export interface LoopSettings {
  /** Automatic-looking turns in a row that are answered; the next one is not. 0: every one is. */
  turns: number;
  /** Longest wait between our reply and an answer that no person gives so often in a row, in milliseconds. */
  replyMs: number;
}

/** Nobody types faster for long; what was dictated or pasted is rarer than one message after the other. */
const TYPED_CHARS_PER_SECOND = 15;
/** Shorter texts may have been typed while our reply was still being read. */
const MIN_CHARS = 20;
/** A slower program (it may be an agent with a language model) is told by more turns in a row. */
const SLOW_FACTOR = 10;
const SLOW_TURNS_FACTOR = 3;

/** The message whose turn it is. */
export interface TurnNow {
  chatId: string;
  text: string;
  /** Who wrote it, as EarlierTurn.sender. */
  sender: string;
  receivedAtMs: number;
  /** When our last reply in the chat was stored; absent when there was none. */
  repliedAtMs?: number;
}

/**
 * Whether a message is the next of a run of automatic turns, and how long that run is.
 *
 * A turn looks automatic when it came after our reply to the turn before, within `replyMs`, and repeats that turn, says
 * our own reply back, or holds more than can be typed in that time; or within ten times `replyMs` with more than can be
 * typed. What was written before our reply came is no answer to it: it neither counts nor ends the run. `turns` quick ones
 * in a row, or three times as many of either sort, make a loop; the first message that looks written by a person ends it.
 * @param earlier answered turns of the chat, newest first
 */
export function loopOf(
  now: Omit<TurnNow, 'chatId'>,
  earlier: readonly EarlierTurn[],
  settings: LoopSettings,
): { isLoop: boolean; turns: number } {
  let turns = 0;
  let quickTurns = 0;
  let isQuick = true;
  let answer: Pick<TurnNow, 'sender' | 'text' | 'receivedAtMs'> = now;
  for (const before of earlier) {
    if (before.sender !== now.sender) break;
    const pace = paceOf(answer, before, settings.replyMs);
    if (pace === 'person') break;
    answer = before;
    if (pace === 'unknown') continue;
    if (pace === 'slow') isQuick = false;
    turns += 1;
    if (isQuick) quickTurns += 1;
  }
  const isLoop = quickTurns > settings.turns || turns > settings.turns * SLOW_TURNS_FACTOR;
  return { isLoop: settings.turns > 0 && isLoop, turns };
}

function paceOf(
  answer: { text: string; receivedAtMs: number },
  before: EarlierTurn,
  replyMs: number,
): 'quick' | 'slow' | 'person' | 'unknown' {
  const gapMs = answer.receivedAtMs - before.repliedAtMs;
  if (gapMs < 0) return 'unknown';
  const text = answer.text.trim();
  const isTooLong = text.length > Math.max(MIN_CHARS, (gapMs / 1_000) * TYPED_CHARS_PER_SECOND);
  const isRepeat = text === before.text.trim() || text === before.replyText.trim();
  if (gapMs <= replyMs && (isTooLong || isRepeat)) return 'quick';
  return isTooLong && gapMs <= replyMs * SLOW_FACTOR ? 'slow' : 'person';
}

/**
 * Looks whether a message belongs to a loop; the stored turns are read only when it came soon enough after a reply.
 * @throws {StorageUnavailableError} the turns could not be read
 */
export async function findLoop(
  deps: { history: ChatHistory; settings: LoopSettings },
  now: TurnNow,
): Promise<{ isLoop: boolean; turns: number }> {
  const { turns, replyMs } = deps.settings;
  const sinceReplyMs = now.receivedAtMs - (now.repliedAtMs ?? Number.NEGATIVE_INFINITY);
  if (turns === 0 || sinceReplyMs > replyMs * SLOW_FACTOR) return { isLoop: false, turns: 0 };
  // Twice as many as the longest run needs, since turns that say nothing stand between.
  const earlier = await deps.history.answeredTurns(now.chatId, turns * SLOW_TURNS_FACTOR * 2 + 2);
  return loopOf(now, earlier, deps.settings);
}
