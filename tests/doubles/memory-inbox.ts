import { pendingTurn, replyToOf } from '../../router/src/core/messages/chat-identity.ts';
import type {
  InboundMessage,
  Inbox,
  PendingTurn,
  QueuedReply,
  Stored,
  TurnResult,
} from '../../router/src/core/ports/inbox.ts';
import { mediaColumns } from '../../router/src/infra/storage/stores/media-columns.ts';
import { chatOf, learnLid, lidOfPhone, phoneOfLid } from './memory-chats.ts';
import type { MemoryChat, MemoryMessage, MemoryReply, MemoryState } from './memory-state.ts';

/** The inbox in memory, for tests: the same promises as PostgresInbox, and nothing survives the process. */
export class MemoryInbox implements Inbox {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async add(message: InboundMessage): Promise<Stored> {
    const state = this.#state;
    const sender = this.#writerInGroup(message);
    const replyTo = replyToOf(message);
    const chat = chatOf(state, message.accountId, message.chat, replyTo);
    if (!chat.groupId && isSamePerson(sender, { phone: chat.phone, lid: chat.lid })) {
      sender.phone = chat.phone ?? sender.phone;
      sender.lid = chat.lid ?? sender.lid;
    }
    const known = state.messagesOf(chat.id).find((other) => other.waMessageId === message.waMessageId);
    const isReadableNow =
      known?.kind === 'undecryptable' && known.state === 'ignored' && message.kind !== 'undecryptable';
    const isStored = !known || isReadableNow;
    let reason = message.ignoredReason;
    if (!known && !reason && message.editOf && this.#applyEdit(chat, message, sender))
      reason = 'edit-applied';

    const { info, reference } = (!reason && mediaColumns(message.media)) || {};
    const content = {
      media: info,
      mediaRef: reference,
      kind: message.kind,
      text: message.ignoredReason ? '' : message.text,
      quotedText: message.ignoredReason ? undefined : message.quotedText,
      editOf: message.editOf,
      pushName: message.sender.pushName ?? known?.pushName,
      state: reason ? ('ignored' as const) : ('received' as const),
      reason,
      finishedAt: reason ? state.time() : undefined,
    };
    const row: MemoryMessage = known ?? {
      ...content,
      id: state.nextId(),
      accountId: message.accountId,
      chatId: chat.id,
      waMessageId: message.waMessageId,
      senderPhone: sender.phone,
      senderLid: sender.lid,
      attempts: 0,
      stanzaOrder: message.stanzaOrder,
      sentAtMs: Math.trunc(message.sentAtMs),
      receivedAt: state.time(),
    };
    if (isReadableNow) Object.assign(row, content);
    state.messages.set(row.id, row);

    const isWaiting = isStored && row.state === 'received';
    if (isWaiting) chat.replyTo = replyTo;
    const stored: Stored = {
      outcome: isStored ? 'stored' : 'known',
      messageId: String(row.id),
      chatId: String(chat.id),
    };
    if (!chat.loopRunning && state.received(chat.id).length > 0) {
      stored.startLoop = { chatId: String(chat.id), epoch: startLoop(chat) };
    }
    return stored;
  }

  async nextTurn(
    chatId: string,
    epoch: number,
    options: { keepOpen?: boolean } = {},
  ): Promise<PendingTurn | undefined> {
    const chat = this.#state.chats.get(Number(chatId));
    if (!chat || chat.loopEpoch !== epoch || !chat.loopRunning) return undefined;
    const [message, ...more] = this.#state.received(chat.id);
    if (!message) {
      if (!options.keepOpen) chat.loopRunning = false;
      return undefined;
    }
    const replies = [...this.#state.outbox.values()].filter((reply) => reply.chatId === chatId);
    return pendingTurn({
      ...message,
      receivedAtMs: message.receivedAt.getTime(),
      repliedAtMs: replies.at(-1)?.queuedAt.getTime(),
      messageId: String(message.id),
      chatId,
      chat: { phone: chat.phone, lid: chat.lid, groupId: chat.groupId },
      replyTo: chat.replyTo,
      hasMore: more.length > 0,
    });
  }

  async finishTurn(messageId: string, result: TurnResult): Promise<QueuedReply[]> {
    const state = this.#state;
    const message = state.messages.get(Number(messageId));
    const repliesNow = () => [...state.outbox.values()].filter((reply) => reply.messageId === messageId);
    let earlier = 0;
    if (message?.state === 'received') {
      earlier = repliesNow().length;
      const { replies, ...end } = result;
      const reason = end.reason ?? (end.state === 'answered' ? undefined : 'unspecified');
      Object.assign(message, { ...end, reason, attempts: end.attempts ?? 0, finishedAt: state.time() });
      if (end.state !== 'dead') message.mediaRef = undefined;
      for (const reply of replies) queueReply(state, message, reply);
      if (end.state === 'dead' && reason) {
        state.addDeadLetter({
          accountId: message.accountId,
          chatId: message.chatId,
          messageId,
          reason,
          error: end.error ?? reason,
          attempts: message.attempts,
          trace: end.trace,
        });
      }
    }
    return repliesNow().slice(earlier).map(queuedReplyOf);
  }

  async deadLetterUnreadable(
    chatId: string,
    epoch: number,
    why: { reason: string; error: string },
  ): Promise<string | undefined> {
    const chat = this.#state.chats.get(Number(chatId));
    if (!chat || chat.loopEpoch !== epoch || !chat.loopRunning) return undefined;
    const [message] = this.#state.received(chat.id);
    if (!message) return undefined;
    await this.finishTurn(String(message.id), { state: 'dead', ...why, replies: [] });
    return String(message.id);
  }

  async mediaReference(messageId: string): Promise<string | undefined> {
    return this.#state.messages.get(Number(messageId))?.mediaRef;
  }

  async renewLoop(chatId: string, epoch: number): Promise<number | undefined> {
    const chat = this.#state.chats.get(Number(chatId));
    if (!chat || (chat.loopEpoch !== epoch && chat.loopEpoch !== epoch + 1)) return undefined;
    const isOpen = this.#state.received(chat.id).length > 0;
    if (chat.loopEpoch === epoch) {
      chat.loopRunning = isOpen;
      if (isOpen) chat.loopEpoch += 1;
    }
    return isOpen ? epoch + 1 : undefined;
  }

  async openLoops(): Promise<Array<{ chatId: string; epoch: number }>> {
    const open = [...this.#state.chats.values()].filter((chat) => this.#state.received(chat.id).length > 0);
    return open
      .sort((a, b) => a.id - b.id)
      .map((chat) => ({
        chatId: String(chat.id),
        epoch: chat.loopRunning ? chat.loopEpoch : startLoop(chat),
      }));
  }

  /** The writer with the address that the message did not name; what the message tells of a group's member is noted. */
  #writerInGroup({ accountId, chat, sender }: InboundMessage): { phone?: string; lid?: string } {
    const { phone, lid } = sender;
    if (chat.kind !== 'group') return { phone, lid };
    if (phone && lid) learnLid(this.#state, accountId, lid, phone);
    return {
      phone: phone ?? (lid && phoneOfLid(this.#state, accountId, lid)),
      lid: lid ?? (phone && lidOfPhone(this.#state, accountId, phone)),
    };
  }

  /** Replaces the text of a message that waits behind the one an agent may be reading. */
  #applyEdit(chat: MemoryChat, edit: InboundMessage, sender: { phone?: string; lid?: string }): boolean {
    const received = this.#state.received(chat.id);
    const target = received
      .slice(chat.loopRunning ? 1 : 0)
      .filter(
        (message) =>
          (message.waMessageId === edit.editOf || message.editOf === edit.editOf) &&
          isSamePerson(sender, { phone: message.senderPhone, lid: message.senderLid }),
      )
      .at(-1);
    if (!target) return false;
    target.text = edit.text;
    return true;
  }
}

/** An outbox row as the deliverer takes it. */
export function queuedReplyOf(reply: MemoryReply): QueuedReply {
  const { id, chatId, accountId, to, waMessageId, text, media } = reply;
  return { outboxId: id, chatId, message: { accountId, to, waMessageId, text, ...(media && { media }) } };
}

function queueReply(state: MemoryState, message: MemoryMessage, reply: TurnResult['replies'][number]): void {
  const id = String(state.nextId());
  state.outbox.set(id, {
    id,
    accountId: message.accountId,
    chatId: String(message.chatId),
    messageId: String(message.id),
    to: reply.to,
    waMessageId: reply.waMessageId,
    text: reply.text,
    media: reply.media,
    file: reply.file && { bytes: reply.file },
    state: 'queued',
    attempts: 0,
    queuedAt: state.time(),
  });
}

function startLoop(chat: MemoryChat): number {
  chat.loopRunning = true;
  chat.loopEpoch += 1;
  return chat.loopEpoch;
}

function isSamePerson(a: { phone?: string; lid?: string }, b: { phone?: string; lid?: string }): boolean {
  return (a.phone !== undefined && a.phone === b.phone) || (a.lid !== undefined && a.lid === b.lid);
}
