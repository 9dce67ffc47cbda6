import { pendingTurn, replyToOf, type StoredMention } from '../../router/src/core/messages/chat-identity.ts';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { Lease } from '../../router/src/core/ports/account-lease.ts';
import type { ChatClaim, CountOptions, Inbox, OpenChat, Stored } from '../../router/src/core/ports/inbox.ts';
import type { FinishedTurn, PendingTurn, QueuedReply, TurnResult } from '../../router/src/core/turns/turn.ts';
import { mediaColumns } from '../../router/src/infra/storage/stores/media-columns.ts';
import {
  chatOf,
  claimChat,
  claimOf,
  isSamePerson,
  learnLid,
  lidOfPhone,
  phoneOfLid,
} from './memory-chats.ts';
import {
  isPaused,
  type MemoryChat,
  type MemoryMessage,
  type MemoryReply,
  type MemoryState,
} from './memory-state.ts';

/** The inbox in memory, with the promises of PostgresInbox except durability. */
export class MemoryInbox implements Inbox {
  readonly #state: MemoryState;
  readonly #isHeld: (lease: Lease) => boolean;

  /** @param isHeld whether a lease is valid; default: always */
  constructor(state: MemoryState, isHeld: (lease: Lease) => boolean = () => true) {
    this.#state = state;
    this.#isHeld = isHeld;
  }

  async add(message: InboundMessage, node: string): Promise<Stored> {
    const state = this.#state;
    const sender = this.#writerInGroup(message);
    const replyTo = replyToOf(message);
    const chat = chatOf(state, message.accountId, message.chat, replyTo);
    if (!chat.groupId && isSamePerson(sender, { phone: chat.phone, lid: chat.lid })) {
      sender.phone = chat.phone ?? sender.phone;
      sender.lid = chat.lid ?? sender.lid;
    }
    const known = state
      .messagesOf(chat.id)
      .find((other) => other.waMessageId === message.waMessageId && isSameSender(other, sender));
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
      mentions: reason ? undefined : this.#named(message, chat),
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
      clearedAttempts: 0,
      stanzaOrder: message.stanzaOrder,
      sentAtMs: Math.trunc(message.sentAtMs),
      receivedAt: state.time(),
    };
    if (isReadableNow) Object.assign(row, content);
    state.messages.set(row.id, row);

    const isWaiting = isStored && row.state === 'received';
    if (isWaiting) chat.replyTo = replyTo;
    const worker = claimOf(chat);
    const isNewWorker = !worker && state.received(chat.id).length > 0;
    const claim = isNewWorker ? claimChat(chat, node) : worker;
    if (isNewWorker) chat.activeAtMs = state.now();
    const isOnly =
      !known && isWaiting && !row.media && !message.mentions && state.received(chat.id).length === 1;
    const turn = isOnly ? this.#oldest(chat) : undefined;
    return {
      outcome: isStored ? 'stored' : 'known',
      messageId: String(row.id),
      chatId: String(chat.id),
      ...(claim && { worker: claim }),
      isNewWorker,
      ...(turn && { turn }),
    };
  }

  async nextTurn(claim: ChatClaim): Promise<PendingTurn | undefined> {
    return this.#oldestOrRelease(claim);
  }

  #oldestOrRelease(claim: ChatClaim): PendingTurn | undefined {
    const chat = this.#claimed(claim);
    const turn = chat && this.#oldest(chat);
    if (chat && !turn) {
      chat.workerNode = undefined;
      chat.activeAtMs = this.#state.now();
    }
    return turn;
  }

  #oldest(chat: MemoryChat): PendingTurn | undefined {
    const [message] = this.#state.received(chat.id);
    if (!message) return undefined;
    const chatId = String(chat.id);
    const replies = [...this.#state.outbox.values()].filter((reply) => reply.chatId === chatId);
    return pendingTurn({
      ...message,
      mayHaveRun: message.attempts > message.clearedAttempts,
      receivedAtMs: message.receivedAt.getTime(),
      repliedAtMs: replies.at(-1)?.queuedAt.getTime(),
      messageId: String(message.id),
      chatId,
      chat: { phone: chat.phone, lid: chat.lid, groupId: chat.groupId },
      replyTo: chat.replyTo,
      isPaused: isPaused(chat, this.#state.now()),
    });
  }

  async countAttempt(
    messageId: string,
    attempt: number,
    { didNotRun = false }: CountOptions = {},
  ): Promise<{ stored: Promise<void> }> {
    const message = this.#state.messages.get(Number(messageId));
    if (message) {
      message.attempts = Math.max(message.attempts, attempt);
      message.clearedAttempts = Math.max(message.clearedAttempts, didNotRun ? attempt : 0);
    }
    return { stored: Promise.resolve() };
  }

  async finishTurn(
    messageId: string,
    result: TurnResult,
    { claim, lease }: { claim?: ChatClaim; lease?: Lease } = {},
  ): Promise<FinishedTurn> {
    const state = this.#state;
    const message = state.messages.get(Number(messageId));
    const repliesNow = () => [...state.outbox.values()].filter((reply) => reply.messageId === messageId);
    let earlier = 0;
    let isSending = false;
    if (message?.state === 'received') {
      earlier = repliesNow().length;
      const { replies, ...end } = result;
      const reason = end.reason ?? (end.state === 'answered' ? undefined : 'unspecified');
      Object.assign(message, {
        ...end,
        reason,
        attempts: end.attempts ?? message.attempts,
        finishedAt: state.time(),
      });
      if (end.state !== 'dead') message.mediaRef = undefined;
      const isBehind = [...state.outbox.values()].some(
        (row) => row.chatId === String(message.chatId) && row.state === 'queued',
      );
      for (const reply of replies) queueReply(state, message, reply);
      const [first] = repliesNow().slice(earlier);
      isSending = lease !== undefined && first !== undefined && !isBehind && this.#isHeld(lease);
      if (first && isSending)
        Object.assign(first, { state: 'sending', attempts: 1, attemptedAt: state.time() });
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
    const replies = repliesNow()
      .slice(earlier)
      .map((row, index) => ({
        ...queuedReplyOf(row),
        ...(isSending && index === 0 && { isSending: true as const }),
      }));
    return { replies, isClaimed: claim !== undefined && this.#oldestOrRelease(claim) !== undefined };
  }

  async deadLetterUnreadable(
    claim: ChatClaim,
    why: { reason: string; error: string },
  ): Promise<string | undefined> {
    const chat = this.#claimed(claim);
    if (!chat) return undefined;
    const turn = this.#oldest(chat);
    if (turn) await this.finishTurn(turn.messageId, { state: 'dead', ...why, replies: [] });
    return turn?.messageId;
  }

  async mediaReference(messageId: string): Promise<string | undefined> {
    return this.#state.messages.get(Number(messageId))?.mediaRef;
  }

  async openChats(exceptNodes: readonly string[]): Promise<OpenChat[]> {
    return [...this.#state.chats.values()]
      .filter(
        ({ id, workerNode }) =>
          this.#state.received(id).length > 0 && !(workerNode && exceptNodes.includes(workerNode)),
      )
      .sort((a, b) => a.id - b.id)
      .map(({ id, workerNode, workerEpoch }) => ({
        chatId: String(id),
        ...(workerNode !== undefined && { node: workerNode }),
        epoch: workerEpoch,
      }));
  }

  async claimChats(
    chats: ReadonlyArray<Pick<OpenChat, 'chatId' | 'epoch'>>,
    node: string,
  ): Promise<ChatClaim[]> {
    return chats.flatMap(({ chatId, epoch }) => {
      const chat = this.#state.chats.get(Number(chatId));
      return chat?.workerEpoch === epoch ? [claimChat(chat, node)] : [];
    });
  }

  #claimed({ chatId, node, epoch }: ChatClaim): MemoryChat | undefined {
    const chat = this.#state.chats.get(Number(chatId));
    return chat?.workerNode === node && chat.workerEpoch === epoch ? chat : undefined;
  }

  /** The author with both addresses where known; stores the pair of addresses of a group member. */
  #writerInGroup({ accountId, chat, sender }: InboundMessage): { phone?: string; lid?: string } {
    const { phone, lid } = sender;
    if (chat.kind !== 'group') return { phone, lid };
    if (phone && lid) learnLid(this.#state, accountId, lid, phone);
    return {
      phone: phone ?? (lid && phoneOfLid(this.#state, accountId, lid)),
      lid: lid ?? (phone && lidOfPhone(this.#state, accountId, phone)),
    };
  }

  /** Replaces the text of a message that waits behind the one of the current turn. */
  #applyEdit(chat: MemoryChat, edit: InboundMessage, sender: { phone?: string; lid?: string }): boolean {
    const received = this.#state.received(chat.id);
    const target = received
      .slice(chat.workerNode === undefined ? 0 : 1)
      .filter(
        (message) =>
          (message.waMessageId === edit.editOf || message.editOf === edit.editOf) &&
          isSamePerson(sender, { phone: message.senderPhone, lid: message.senderLid }),
      )
      .at(-1);
    if (!target) return false;
    target.text = edit.text;
    target.mentions = this.#named(edit, chat);
    return true;
  }

  /** With both addresses, and the name that the person's last message to the chat has (as SQL's `named_mentions`). */
  #named({ accountId, mentions }: InboundMessage, chat: MemoryChat): StoredMention[] | undefined {
    return mentions?.map(({ tag, ...given }) => {
      const phone = given.phone ?? phoneOfLid(this.#state, accountId, given.lid ?? '');
      const lid = given.lid ?? lidOfPhone(this.#state, accountId, given.phone ?? '');
      const said = this.#state
        .messagesOf(chat.id)
        .filter(
          (row) =>
            row.pushName && isSamePerson({ phone, lid }, { phone: row.senderPhone, lid: row.senderLid }),
        );
      const name = said.at(-1)?.pushName;
      return { tag, ...(phone && { phone }), ...(lid && { lid }), ...(name && { name }) };
    });
  }
}

/** An outbox row as delivery reads it. */
export function queuedReplyOf(reply: MemoryReply): QueuedReply {
  const { id, chatId, messageId, accountId, to, waMessageId, text, media } = reply;
  const answers = messageId !== undefined && { messageId };
  return {
    outboxId: id,
    chatId,
    ...answers,
    message: { accountId, to, waMessageId, text, ...(media && { media }) },
  };
}

/** Stores a reply to a message as `queued`. */
export function queueReply(
  state: MemoryState,
  message: MemoryMessage,
  reply: TurnResult['replies'][number],
): MemoryReply {
  const id = String(state.nextId());
  const row: MemoryReply = {
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
  };
  state.outbox.set(id, row);
  return row;
}

/** A message id belongs to its sender; where no sender is known, the id alone counts. */
function isSameSender(
  message: Pick<MemoryMessage, 'senderPhone' | 'senderLid'>,
  sender: { phone?: string; lid?: string },
): boolean {
  const { senderPhone: phone, senderLid: lid } = message;
  if (!phone && !lid) return !sender.phone && !sender.lid;
  return isSamePerson(sender, { phone, lid });
}
