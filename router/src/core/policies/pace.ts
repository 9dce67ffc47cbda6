import { isRetryable } from '../errors.ts';
import { say } from '../phrases.ts';
import type { Inbox } from '../ports/inbox.ts';
import { type RouteDeps, routeMessage } from '../routing/route-message.ts';
import type { PendingTurn } from '../turns/turn.ts';
import { type ChatPolicy, CONTINUE, type TurnView } from './policy.ts';
import { commandIn } from './session.ts';
import type { ChatSettings } from './settings.ts';

interface PaceDeps extends RouteDeps {
  inbox: Pick<Inbox, 'waiting'>;
}

/** Messages of one turn; further ones are the next turn. */
export const MAX_LINES = 50;

/** The messages of one turn, oldest first. */
interface Collected {
  lines: PendingTurn[];
  /** A message that comes now may belong to it. */
  isOpen: boolean;
  /** The person wrote /stop after it. */
  isStopped?: true;
}

/**
 * Answers messages that a person writes in a row as one turn. When is computed from the times at which they were stored, so
 * that any node comes to the same result at any time. The turn is that of the last message; the others end with it.
 */
export function pacePolicy(deps: PaceDeps): ChatPolicy {
  return {
    name: 'pace',
    before: async (view, log) => {
      const { turn, nowMs, conversation } = view;
      if (isOff(conversation) && turn.mergedInto === undefined) return CONTINUE;
      let found: { collected: Collected; storedNowMs: number } | undefined;
      try {
        found = await collectFrom(deps, view);
      } catch (error) {
        if (isRetryable(error)) throw error;
        log.warn({ err: error }, 'further messages of the chat unreadable, answering the first one alone');
      }
      if (!found) return CONTINUE;
      const { collected, storedNowMs } = found;
      const [line] = collected.lines;
      const isAlone = collected.lines.length === 1 && line?.messageId === turn.messageId;
      // The turn may have the words of its voice message.
      const merged = isAlone && line?.edits === turn.edits ? turn : mergedTurn(collected.lines);
      if (collected.isStopped) {
        const sentence = say('stop.before-call');
        const step = { step: 'pace', outcome: 'stopped', ...sentence };
        return { kind: 'end', reason: 'stopped-by-person', step, turn: merged };
      }
      const waitMs = waitMsOf(collected, conversation.pace, storedNowMs);
      if (waitMs > 0) {
        const sentence = say('pace.waits', { ms: waitMs });
        return {
          kind: 'wait',
          untilMs: nowMs + waitMs,
          step: { step: 'pace', outcome: 'waits', ...sentence },
        };
      }
      const count = collected.lines.length;
      const outcome = count > 1 ? 'merged' : 'single';
      const sentence = count > 1 ? say('pace.merged', { count }) : say('pace.single');
      return { kind: 'continue', turn: merged, step: { step: 'pace', outcome, ...sentence } };
    },

    interrupts: async (view) => {
      if (view.conversation.pace.busy !== 'interrupt') return false;
      const found = await collectFrom(deps, view);
      const { merged = [], messageId } = view.turn;
      return (
        found !== undefined && grows([...merged.map((line) => line.messageId), messageId], found.collected)
      );
    },
  };
}

/** Whether the messages now are those of a turn and more. */
function grows(turnIds: readonly string[], { lines }: Collected): boolean {
  return lines.length > turnIds.length && turnIds.every((id, index) => lines[index]?.messageId === id);
}

/** The messages of the turn by what is stored now; undefined when its first message has ended. */
async function collectFrom(
  deps: PaceDeps,
  { turn, route, conversation }: Pick<TurnView, 'turn' | 'route' | 'conversation'>,
): Promise<{ collected: Collected; storedNowMs: number } | undefined> {
  // A message that nobody wrote is explained to an admin: it has no others.
  const { turns, nowMs } =
    turn.messageId === ''
      ? { turns: [turn], nowMs: turn.receivedAtMs }
      : await deps.inbox.waiting(turn.chatId, MAX_LINES + 1);
  const firstId = turn.merged?.[0]?.messageId ?? turn.messageId;
  const [first] = turns;
  if (first?.messageId !== firstId) return undefined;
  const others = new Set<string>();
  for (const next of turns.slice(1)) {
    const choice = await routeMessage(deps, next);
    if (choice.kind !== 'route' || choice.route.id !== route.id) others.add(next.messageId);
  }
  return { collected: collect(turns, conversation, others), storedNowMs: nowMs };
}

function isOff({ pace }: Pick<ChatSettings, 'pace'>): boolean {
  return pace.debounceMs === 0 && pace.busy === 'queue';
}

/**
 * The messages of the first turn among those that wait. Pure; the order stays, and none is left out between two.
 *
 * They are of one person and one route. A file ends them and belongs to them; a command and what has no text are turns by
 * themselves. With `queue`, each came within `debounceMs` of the one before and `maxWaitMs` of the first. A turn that an
 * agent may already have is not extended, except with `interrupt`.
 * @param waiting all unanswered messages of the chat in their order, or the first ones; at least one
 * @param otherRoutes ids of those whose route is another one than that of the first
 */
export function collect(
  waiting: readonly PendingTurn[],
  { pace: { debounceMs, maxWaitMs, busy }, commands }: Pick<ChatSettings, 'pace' | 'commands'>,
  otherRoutes: ReadonlySet<string> = new Set(),
): Collected {
  const [first, ...later] = waiting;
  if (!first) throw new RangeError('no message waits');
  if (busy !== 'interrupt') {
    const begun = begunTurn(waiting);
    if (begun) return { lines: begun, isOpen: false };
  }
  const lines = [first];
  if (!joins(first, commands) || first.message.media) return { lines, isOpen: false };
  let last = first;
  for (const next of later) {
    const untilMs = Math.min(last.receivedAtMs + debounceMs, first.receivedAtMs + maxWaitMs);
    const isLate = busy === 'queue' && next.receivedAtMs > untilMs;
    const isSame = next.sender === first.sender && !otherRoutes.has(next.messageId);
    if (isLate || next.sender !== first.sender || lines.length === MAX_LINES) return { lines, isOpen: false };
    if (commands.stop && commandIn(next.message.text) === 'stop')
      return { lines, isOpen: false, isStopped: true };
    if (!isSame || !joins(next, commands)) return { lines, isOpen: false };
    lines.push(next);
    last = next;
    if (next.message.media) return { lines, isOpen: false };
  }
  return { lines, isOpen: lines.length < MAX_LINES };
}

/** The messages that an earlier call of the agent had; undefined when none was made. */
export function begunTurn(waiting: readonly PendingTurn[]): PendingTurn[] | undefined {
  const [first] = waiting;
  if (!first) return undefined;
  const { mergedInto } = first;
  if (mergedInto !== undefined && waiting.some(({ messageId }) => messageId === mergedInto)) {
    return waiting.filter((each) => each.mergedInto === mergedInto || each.messageId === mergedInto);
  }
  return first.earlierAttempts === undefined ? undefined : [first];
}

/** Text, or a file; no command. */
function joins({ message }: PendingTurn, commands: ChatSettings['commands']): boolean {
  const command = commandIn(message.text);
  if (command && commands[command]) return false;
  return message.media !== undefined || ((message.kind ?? 'text') === 'text' && message.text.trim() !== '');
}

/** How long a turn waits for further messages, in milliseconds; 0: not at all. Pure. */
export function waitMsOf(
  { lines, isOpen }: Collected,
  { debounceMs, maxWaitMs }: ChatSettings['pace'],
  nowMs: number,
): number {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!isOpen || !first || !last) return 0;
  const untilMs = Math.min(last.receivedAtMs + debounceMs, first.receivedAtMs + maxWaitMs);
  return Math.max(0, untilMs - nowMs);
}

/** The turn of several messages: that of the last one, with the words of all. Pure. */
export function mergedTurn(lines: readonly PendingTurn[]): PendingTurn {
  const last = lines.at(-1);
  if (!last) throw new RangeError('a turn has a message');
  if (lines.length === 1) return last;
  const texts = lines.map(({ message }) => message.text).filter((text) => text.trim() !== '');
  const mentions = new Map(
    lines.flatMap(({ message }) => message.mentions ?? []).map((each) => [each.tag, each]),
  );
  const quotedText = lines.findLast(({ message }) => message.quotedText !== undefined)?.message.quotedText;
  const toUs = new Set(lines.flatMap((line) => line.toUs ?? []));
  const edits = lines.reduce((sum, line) => sum + (line.edits ?? 0), 0);
  return {
    ...last,
    ...(edits > 0 && { bubbleId: last.bubbleId ?? last.message.id }),
    message: {
      ...last.message,
      // An agent that got the former words must not take this for a repeat.
      ...(edits > 0 && { id: `${last.message.id}-${edits}` }),
      text: texts.join('\n'),
      kind: texts.length > 0 ? 'text' : last.message.kind,
      ...(quotedText !== undefined && { quotedText }),
      ...(mentions.size > 0 && { mentions: [...mentions.values()] }),
    },
    ...(toUs.size > 0 && { toUs: toUs.size === 1 ? [...toUs][0] : ('both' as const) }),
    merged: lines.slice(0, -1).map(({ messageId, bubbleId, message, edits: own }) => ({
      messageId,
      bubbleId: bubbleId ?? message.id,
      ...(own && { edits: own }),
    })),
  };
}
