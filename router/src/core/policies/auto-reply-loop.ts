import { isRetryable } from '../errors.ts';
import { say } from '../phrases.ts';
import type { ChatHistory, EarlierTurn } from '../ports/message-log.ts';
import { type ChatPolicy, CONTINUE } from './policy.ts';

/** When a chat counts as an auto-reply loop: two programs that answer each other. */
interface AutoReplyLoopSettings {
  /** Automatic-looking turns in a row that are answered; the next one is not. 0: every message is answered. */
  turns: number;
  /** Longest time from our reply to the next message that counts as automatic, in milliseconds. */
  replyMs: number;
}

interface AutoReplyLoopDeps {
  history: Pick<ChatHistory, 'answeredTurns'>;
  autoReplyLoop: AutoReplyLoopSettings;
}

/** Nobody types faster for long; dictated or pasted texts rarely follow each other. */
const TYPED_CHARS_PER_SECOND = 15;
/** Shorter texts may have been typed while the person read our reply. */
const MIN_CHARS = 20;
/** A slower program (for example an agent with a language model) needs more turns in a row to be recognised. */
const SLOW_FACTOR = 10;
const SLOW_TURNS_FACTOR = 3;

/** The message whose turn it is. */
interface TurnNow {
  chatId: string;
  text: string;
  /** Who wrote it, as EarlierTurn.sender. */
  sender: string;
  receivedAtMs: number;
  /** When our last reply in the chat was stored; absent when there was none. */
  repliedAtMs?: number;
  /** Earlier turns do not count: an operator resumed the chat then. */
  fromMs?: number;
}

/**
 * Ends turns of an auto-reply loop without an answer (reason `auto-reply-loop`), and pauses the chat until a message looks
 * typed by a person, or an operator resumes it. A chat history that is damaged skips the
 * check: the message is answered.
 */
export function autoReplyLoopPolicy({ history, autoReplyLoop: settings }: AutoReplyLoopDeps): ChatPolicy {
  return {
    name: 'auto-reply-loop',
    before: async ({ turn }, log) => {
      try {
        const now = { ...turn, text: turn.message.text, fromMs: turn.chatState?.loopFromMs };
        const { isLoop, turns } = await findLoop({ history, settings }, now);
        if (!isLoop) return turn.isInLoop ? { kind: 'continue', loop: 'over' } : CONTINUE;
        const sentence = say('loop.found', { turns });
        const step = { step: 'auto-reply-loop', outcome: 'stopped', ...sentence };
        return { kind: 'end', reason: 'auto-reply-loop', step, loop: 'stopped' };
      } catch (error) {
        if (isRetryable(error)) throw error;
        log.warn({ err: error }, 'auto-reply-loop check skipped: chat history unreadable');
        return CONTINUE;
      }
    },
  };
}

/**
 * Whether a message is the next of a run of automatic turns, and how long that run is.
 *
 * A turn looks automatic when it came after our reply to the previous turn, within `replyMs`, and repeats that turn, or
 * repeats our own reply, or is longer than can be typed in that time; or within ten times `replyMs` and longer than can be
 * typed. A message written before our reply is not an answer to it: it neither counts nor ends the run. `turns` quick turns in
 * a row, or three times as many of either sort, make a loop; the first message that looks typed by a person ends it.
 * @param earlier answered turns of the chat, newest first
 */
export function loopOf(
  now: Omit<TurnNow, 'chatId'>,
  earlier: readonly EarlierTurn[],
  settings: AutoReplyLoopSettings,
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
 * Whether a message belongs to a loop. Stored turns are read only when it came soon enough after a reply.
 * @throws {StorageUnavailableError} the turns could not be read
 */
export async function findLoop(
  deps: { history: Pick<ChatHistory, 'answeredTurns'>; settings: AutoReplyLoopSettings },
  now: TurnNow,
): Promise<{ isLoop: boolean; turns: number }> {
  const { turns, replyMs } = deps.settings;
  const sinceReplyMs = now.receivedAtMs - (now.repliedAtMs ?? Number.NEGATIVE_INFINITY);
  if (turns === 0 || sinceReplyMs > replyMs * SLOW_FACTOR) return { isLoop: false, turns: 0 };
  // Twice as many as the longest run needs, because turns that do not count stand between them.
  const earlier = await deps.history.answeredTurns(now.chatId, turns * SLOW_TURNS_FACTOR * 2 + 2);
  const counted = earlier.filter(({ repliedAtMs }) => repliedAtMs > (now.fromMs ?? 0));
  return loopOf(now, counted, deps.settings);
}
