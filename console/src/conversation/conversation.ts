import type { Phrase } from '../translation/en.ts';
import type { Card, Message, MessageFile, Received, Sent } from './chat-types.ts';
import { routeNameIn } from './trace-steps.ts';

/** What the account owner sees under a message that was sent: waits, at WhatsApp, on the phone, read, given up. */
export type Tick = 'draft' | 'waiting' | 'sent' | 'delivered' | 'read' | 'failed';

/** One bubble of a conversation as a phone shows it, or a line between bubbles. */
export interface Bubble {
  /** Id of the message. */
  id: string;
  waMessageId: string;
  kind: 'message' | 'notice';
  side: 'person' | 'account';
  /** Who wrote it: a person of the chat, wa2ai itself, the agent, a program or a person through the API, or the owner on the phone. */
  writer: 'person' | 'notice' | 'agent' | 'program' | 'operator' | 'owner';
  /** The name of a member of a group, or of the route whose agent wrote it. */
  name?: string;
  text: string;
  /** The kind of its content: text, image, location, poll … */
  content: string;
  /** What `content` shows; without it, its name. */
  card?: Card;
  /** Its file could be seen once, and is not stored. */
  isViewOnce?: true;
  at: string;
  file?: MessageFile;
  /** Its file can be loaded. */
  hasFile: boolean;
  /** Where its file is, unless the message log has it. */
  fileUrl?: string;
  quote?: string;
  isEdited: boolean;
  isDeleted: boolean;
  /** The emoji of each person who reacted. */
  reactions: string[];
  tick?: Tick;
  /** Why it has no answer, or was not sent. */
  reason?: string;
  error?: string;
  phrase?: Phrase;
  deadLetterId?: string;
  /** The message received whose turn has a trace. */
  turn?: Received;
  /** The message that it answers as a draft, which waits for the owner. */
  draftOf?: string;
}

const TICKS: Record<string, Tick> = {
  draft: 'draft',
  queued: 'waiting',
  sending: 'waiting',
  sent: 'waiting',
  acked: 'sent',
  delivered: 'delivered',
  read: 'read',
  dead: 'failed',
};

/** The tick of a message that was sent, by its state. */
export function tickOf(state: string): Tick {
  return TICKS[state] ?? 'waiting';
}

/** Messages that only change other ones, or repeat what wa2ai itself sent. */
const SILENT = new Set(['own-message', 'edit-applied', 'timer-changed', 'pin', 'keep', 'poll-vote']);

/**
 * The bubbles of a conversation, oldest first. Reactions, edits and deletions change the bubble of their message, and are
 * not shown when that is not among the messages.
 * @param messages in any order
 */
export function bubblesOf(messages: Iterable<Message>, isGroup: boolean): Bubble[] {
  const bubbles: Bubble[] = [];
  const byWaId = new Map<string, Bubble>();
  /** Edits that were answered again, by the message that they edit. */
  const edits = new Map<string, Bubble[]>();
  const reactions = new Map<Bubble, Map<string, string>>();
  const react = (of: string | undefined, who: string, emoji: string) => {
    const bubble = byWaId.get(of ?? '');
    if (!bubble) return;
    const given = reactions.get(bubble) ?? new Map<string, string>();
    if (emoji === '') given.delete(who);
    else given.set(who, emoji);
    reactions.set(bubble, given);
  };
  const add = (bubble: Bubble, editOf?: string) => {
    bubbles.push(bubble);
    byWaId.set(bubble.waMessageId, bubble);
    if (editOf !== undefined) edits.set(editOf, [...(edits.get(editOf) ?? []), bubble]);
  };
  const sorted = [...messages].sort(byId);
  const turns = new Map(sorted.map((message) => [message.id, message]));
  for (const message of sorted) {
    if (message.direction === 'incoming') {
      if (message.kind === 'reaction') react(message.about, message.from, message.text);
      else if (message.reason === 'deleted') {
        markDeleted(byWaId.get(message.about ?? ''));
        for (const edit of edits.get(message.about ?? '') ?? []) markDeleted(edit);
      } else if (message.reason === 'edit-applied') markEdited(byWaId.get(message.editOf ?? ''));
      else if (!SILENT.has(message.reason ?? '')) add(received(message, isGroup), message.editOf);
      continue;
    }
    const { special } = message;
    if (special?.kind === 'reaction') react(special.of, 'account', special.emoji ?? '');
    else if (special?.kind === 'deletion') markDeleted(byWaId.get(special.of));
    else if (special?.kind === 'edit') markEdited(byWaId.get(special.of), message.text);
    else add(sent(message, turns.get(message.messageId ?? '')));
  }
  for (const [bubble, given] of reactions) bubble.reactions = [...given.values()];
  return bubbles;
}

/** Ids of messages come from one sequence, in the order in which messages were stored. */
function byId(a: Message, b: Message): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1);
}

function markDeleted(bubble: Bubble | undefined): void {
  if (bubble) bubble.isDeleted = true;
}

function markEdited(bubble: Bubble | undefined, text?: string): void {
  if (!bubble) return;
  bubble.isEdited = true;
  if (text) bubble.text = text;
}

function received(message: Received, isGroup: boolean): Bubble {
  const { id, waMessageId, text, reason, kind, media, card, viewOnce } = message;
  const isOwner = reason === 'owner-message';
  const isNotice =
    reason === 'group-event' ||
    // Its trace says why it was not read.
    (kind === 'other' && text === '' && !media && reason !== undefined && reason !== 'encrypted-edit');
  const isDead = message.state === 'dead';
  return {
    ...{ id, waMessageId, text, at: message.receivedAt },
    kind: isNotice ? 'notice' : 'message',
    side: isOwner ? 'account' : 'person',
    writer: isOwner ? 'owner' : 'person',
    ...(isGroup && !isOwner && { name: message.pushName ?? numberOf(message.from) }),
    content: viewOnce ?? media?.kind ?? kind,
    ...(viewOnce && { isViewOnce: true as const }),
    ...(card && { card }),
    ...(media && { file: media }),
    hasFile: message.hasFile === true,
    ...(message.quotedText && { quote: message.quotedText }),
    isEdited: (message.edits ?? 0) > 0 || message.editOf !== undefined,
    isDeleted: reason === 'deleted-by-author',
    reactions: [],
    ...(reason && !isOwner && { reason }),
    ...(isDead && message.error && errorOf(message.error, message.phrase)),
    ...(!isOwner && !isNotice && { turn: message }),
  };
}

function errorOf(error: string, phrase: Phrase | undefined): Pick<Bubble, 'error' | 'phrase'> {
  return { error, ...(phrase && { phrase }) };
}

function sent(message: Sent, turn: Message | undefined): Bubble {
  const { id, waMessageId, text, media, special, quote, reason, error, phrase, deadLetterId } = message;
  const tick = tickOf(message.state);
  const writer = writerOf(message, turn);
  const name = writer === 'agent' && turn ? routeNameOf(turn) : undefined;
  // The text of a card describes it for programs.
  const card = special && 'of' in special ? undefined : special;
  return {
    ...{ id, waMessageId, text: card ? '' : text, at: message.queuedAt, tick, writer },
    kind: 'message',
    side: 'account',
    ...(name !== undefined && { name }),
    content: special?.kind ?? media?.kind ?? 'text',
    ...(card && { card }),
    ...(media && { file: media }),
    hasFile: message.hasFile === true,
    ...(quote && { quote: quote.text }),
    isEdited: false,
    isDeleted: false,
    reactions: [],
    ...(tick === 'failed' && { ...(reason && { reason }), ...(error && errorOf(error, phrase)) }),
    ...(deadLetterId && { deadLetterId }),
    ...(tick === 'draft' && message.messageId !== undefined && { draftOf: message.messageId }),
  };
}

function routeNameOf(turn: Message): string | undefined {
  if (turn.direction !== 'incoming' || turn.routeId === undefined) return undefined;
  return routeNameIn(turn.trace, turn.routeId);
}

/** How turns end whose replies are the agent's; any other end with a reason has a text of wa2ai or of the settings. */
const AGENT_ENDS = new Set(['draft', 'agent-later', 'task-started', 'stopped-by-person']);

function writerOf({ byHand, messageId, isNotice }: Sent, turn: Message | undefined): Bubble['writer'] {
  if (byHand) return 'operator';
  if (isNotice) return 'notice';
  if (messageId === undefined) return 'program';
  const isEnded = turn !== undefined && turn.state !== 'received';
  return isEnded && turn.reason !== undefined && !AGENT_ENDS.has(turn.reason) ? 'notice' : 'agent';
}

/** `5493777239922@s.whatsapp.net` as people write it. */
export function numberOf(jid: string): string {
  const [user = jid, server] = jid.split('@');
  return server === undefined || server === 's.whatsapp.net' ? `+${user}` : user;
}

/** Where a message was written: the name of the group, else of the person, else the address. */
export function chatNameOf(of: {
  channelId: string;
  username?: string;
  pushName?: string;
  groupName?: string;
}): string {
  const isGroup = of.channelId.endsWith('@g.us');
  return (isGroup ? of.groupName : of.pushName) ?? addressOf(of);
}

/** The address of a chat as people know it: the number, of a person without one the user name, else as it is. */
export function addressOf({ channelId, username }: { channelId: string; username?: string }): string {
  if (!channelId.includes('@')) return `+${channelId}`;
  return username !== undefined && channelId.endsWith('@lid') ? `@${username}` : channelId;
}
