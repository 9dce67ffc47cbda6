import type { ChatAddress, OwnerEffect } from '../../router/src/core/messages/inbound-message.ts';
import type { ChatClaim } from '../../router/src/core/ports/inbox.ts';
import { isPaused, type MemoryChat, type MemoryMessage, type MemoryState } from './memory-state.ts';

/** Reasons of messages that are answered when the owner approves their chat. */
export const ACCESS_REASONS = ['access-pending', 'access-over-limit'];

/** Stores that a LID and a number are one person. Each has one partner; the latest pair wins. */
export function learnLid(state: MemoryState, accountId: string, lid: string, phone: string): void {
  for (const [key, known] of state.lids) {
    if (key.startsWith(`${accountId} `) && known === phone) state.lids.delete(key);
  }
  state.lids.set(`${accountId} ${lid}`, phone);
}

export function phoneOfLid(state: MemoryState, accountId: string, lid: string): string | undefined {
  return state.lids.get(`${accountId} ${lid}`);
}

export function lidOfPhone(state: MemoryState, accountId: string, phone: string): string | undefined {
  for (const [key, known] of state.lids) {
    if (known === phone && key.startsWith(`${accountId} `)) return key.slice(accountId.length + 1);
  }
  return undefined;
}

/** Claims a chat for a node under its next epoch. */
export function claimChat(chat: MemoryChat, node: string): ChatClaim {
  chat.workerNode = node;
  chat.workerEpoch += 1;
  return { chatId: String(chat.id), node, epoch: chat.workerEpoch };
}

/** The claim on a chat; undefined when it has no worker. */
export function claimOf({ id, workerNode, workerEpoch }: MemoryChat): ChatClaim | undefined {
  return workerNode === undefined ? undefined : { chatId: String(id), node: workerNode, epoch: workerEpoch };
}

/** The chat of an address; created when there is none, joined with the other chat of the person (as SQL's `chat_of`). */
export function chatOf(
  state: MemoryState,
  accountId: string,
  address: ChatAddress,
  replyTo: string,
): MemoryChat {
  const find = (matches: (chat: MemoryChat) => boolean) =>
    [...state.chats.values()].find((chat) => chat.accountId === accountId && matches(chat));
  if (address.kind === 'group') {
    const { groupId } = address;
    return find((chat) => chat.groupId === groupId) ?? newChat(state, { accountId, groupId, replyTo });
  }
  if (address.phone && address.lid) {
    const joined = find((chat) => chat.phone === address.phone && chat.lid === address.lid);
    if (joined) return joined;
    learnLid(state, accountId, address.lid, address.phone);
  }
  const phone = address.phone ?? phoneOfLid(state, accountId, address.lid ?? '');
  const lid = address.lid ?? lidOfPhone(state, accountId, address.phone ?? '');
  const byLid = lid ? find((chat) => chat.lid === lid) : undefined;
  let byPhone = phone ? find((chat) => chat.phone === phone) : undefined;
  if (!address.phone && byLid?.phone) return byLid;
  if (!address.lid && byPhone?.lid) return byPhone;
  if (byPhone?.lid && lid && byPhone.lid !== lid) {
    // A number can pass to another person, a LID cannot: the number is removed from its former person.
    byPhone.phone = undefined;
    byPhone = undefined;
  }
  const known = [byLid, byPhone].filter((chat) => chat !== undefined).sort((a, b) => a.id - b.id);
  const [kept, gone] = known;
  if (!kept) return newChat(state, { accountId, phone, lid, replyTo });
  if (gone && gone !== kept) mergeChats(state, kept, gone);
  kept.phone = phone ?? kept.phone;
  kept.lid = lid ?? kept.lid;
  return kept;
}

/** Applies what the owner wrote by hand to the chat (as SQL's `owner_wrote`). */
export function ownerWrote(
  state: MemoryState,
  chat: MemoryChat,
  effect: OwnerEffect,
  atMs = state.now(),
): void {
  const now = state.now();
  if (effect.kind === 'resume') chat.pause = undefined;
  else if (effect.kind === 'pause') {
    const untilMs = effect.forMs === undefined ? undefined : now + effect.forMs;
    chat.pause = { sinceMs: now, untilMs, reason: '#pause' };
  } else {
    chat.policyState = { ...chat.policyState, contextMs: now };
    const isTalk = isPaused(chat, now) && chat.pause?.mode !== 'auto-reply-loop';
    const current = isTalk ? chat.pause : undefined;
    if (current && current.untilMs === undefined) return;
    const untilMs = Math.max(current?.untilMs ?? 0, Math.min(atMs, now) + effect.forMs);
    chat.pause = { sinceMs: now, reason: 'The owner wrote in the chat.', ...current, untilMs };
  }
}

function newChat(
  state: MemoryState,
  chat: Omit<MemoryChat, 'id' | 'workerNode' | 'workerEpoch' | 'activeAtMs'>,
): MemoryChat {
  const made = { ...chat, id: state.nextId(), workerEpoch: 0, activeAtMs: state.now() };
  state.chats.set(made.id, made);
  return made;
}

function mergeChats(state: MemoryState, kept: MemoryChat, gone: MemoryChat): void {
  const isFromPerson = ({ senderPhone, senderLid }: MemoryMessage) =>
    [kept, gone].some((chat) => isSamePerson(chat, { phone: senderPhone, lid: senderLid }));
  const isUnread = ({ kind, state }: MemoryMessage) => kind === 'undecryptable' && state === 'ignored';
  for (const message of state.messagesOf(gone.id)) {
    const twin = state
      .messagesOf(kept.id)
      .find(
        (other) => other.waMessageId === message.waMessageId && isFromPerson(other) === isFromPerson(message),
      );
    const unread = twin && twin.kind !== message.kind ? [message, twin].find(isUnread) : undefined;
    if (unread) state.messages.delete(unread.id);
    else if (twin) {
      const copy = message.state === 'received' ? message : twin;
      if (copy.state === 'received') {
        Object.assign(copy, { state: 'ignored', reason: 'duplicate', finishedAt: state.time() });
      }
    }
    message.chatId = kept.id;
  }
  for (const reply of state.outbox.values()) {
    if (reply.chatId === String(gone.id)) reply.chatId = String(kept.id);
  }
  for (const letter of state.deadLetters) if (letter.chatId === gone.id) letter.chatId = kept.id;
  for (const question of state.questions) if (question.chatId === gone.id) question.chatId = kept.id;
  state.chats.delete(gone.id);
  kept.isLocked = kept.isLocked || gone.isLocked;
  kept.username = gone.username ?? kept.username;
  kept.timerSeconds = Math.max(kept.timerSeconds ?? 0, gone.timerSeconds ?? 0);
  if (gone.access) {
    const states = [kept.access?.state, gone.access.state];
    const decided = (['refused', 'approved'] as const).find((each) => states.includes(each)) ?? 'pending';
    kept.access = { state: decided, askedAtMs: kept.access?.askedAtMs ?? gone.access.askedAtMs };
  }
  kept.routeId ??= gone.routeId;
  kept.tags = [...new Set([...(kept.tags ?? []), ...(gone.tags ?? [])])].sort();
  kept.notes = [kept.notes, gone.notes].filter(Boolean).join('\n') || undefined;
  if (kept.access?.state === 'approved') state.requeueIgnored(kept.id, ACCESS_REASONS);
  kept.activeAtMs = Math.max(kept.activeAtMs, gone.activeAtMs);
  if (!isPaused(kept, state.now()) && isPaused(gone, state.now())) kept.pause = gone.pause;
  if (kept.workerNode !== undefined) return;
  kept.workerEpoch = Math.max(kept.workerEpoch, gone.workerEpoch);
  kept.replyTo = gone.replyTo;
}

export function isSamePerson(
  a: { phone?: string; lid?: string },
  b: { phone?: string; lid?: string },
): boolean {
  return (a.phone !== undefined && a.phone === b.phone) || (a.lid !== undefined && a.lid === b.lid);
}
