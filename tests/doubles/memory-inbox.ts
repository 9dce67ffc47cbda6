import type { ErrorCode } from '../../router/src/core/errors.ts';
import {
  pendingTurn,
  replyToOf,
  type StoredDetails,
  type StoredTurn,
} from '../../router/src/core/messages/chat-identity.ts';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { NoTranscript } from '../../router/src/core/models.ts';
import { type Phrase, say } from '../../router/src/core/phrases.ts';
import { GROUP_EVENT } from '../../router/src/core/policies/access.ts';
import type { Lease } from '../../router/src/core/ports/cluster.ts';
import type {
  ChatClaim,
  ChatToClaim,
  CountOptions,
  EndOptions,
  Inbox,
  OpenChat,
  OriginalMessage,
  Stored,
  StoredPart,
} from '../../router/src/core/ports/inbox.ts';
import type {
  FinishedTurn,
  NewReply,
  PendingTurn,
  QueuedReply,
  TurnResult,
} from '../../router/src/core/turns/turn.ts';
import { mediaColumns } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import {
  ACCESS_REASONS,
  chatOf,
  claimChat,
  claimOf,
  isSamePerson,
  learnLid,
  lidOfPhone,
  ownerWrote,
  phoneOfLid,
} from './memory-chats.ts';
import {
  accessOf,
  type MemoryChat,
  type MemoryMessage,
  type MemoryReply,
  type MemoryState,
  pauseModeOf,
} from './memory-state.ts';

type StoredMention = NonNullable<StoredTurn['mentions']>[number];

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
    const { username } = { username: undefined, ...message.chat };
    if (username !== undefined && username !== chat.username) {
      const former = [...state.chats.values()].find(
        (other) => other.accountId === chat.accountId && other.username === username,
      );
      if (former) former.username = undefined;
      chat.username = username;
    }
    if (!chat.groupId && isSamePerson(sender, { phone: chat.phone, lid: chat.lid })) {
      sender.phone = chat.phone ?? sender.phone;
      sender.lid = chat.lid ?? sender.lid;
    }
    const known = state
      .messagesOf(chat.id)
      .find((other) => other.waMessageId === message.waMessageId && isSameSender(other, sender));
    if (!known && message.timerSeconds !== undefined) chat.timerSeconds = message.timerSeconds;
    const isReadableNow =
      known?.kind === 'undecryptable' && known.state === 'ignored' && message.kind !== 'undecryptable';
    const isStored = !known || isReadableNow;
    const isOurs = [...state.outbox.values()].some(
      (row) => row.accountId === message.accountId && row.waMessageId === message.waMessageId,
    );
    const effect = isOurs ? undefined : message.ownerEffect;
    let reason: string | undefined = message.ownerEffect && isOurs ? 'own-message' : message.ignoredReason;
    let changed: MemoryMessage | undefined;
    if (!known && !reason && message.editOf) {
      changed = this.#applyEdit(chat, message, sender);
      if (changed) reason = 'edit-applied';
    } else if (!known && message.deletes) {
      changed = this.#writtenBy(chat, message.deletes, sender, [
        ...ACCESS_REASONS,
        'group-not-addressed',
        'chat-paused',
      ]);
      if (changed) {
        const end = { state: 'ignored', reason: 'deleted-by-author', finishedAt: state.time() };
        Object.assign(changed, end, { mediaRef: undefined, secret: undefined });
      }
    }

    const { info, reference } = (!reason && mediaColumns(message.media)) || {};
    const content = {
      media: info,
      mediaRef: reference,
      secret: message.secret,
      trace: message.ignoredStep && [message.ignoredStep],
      kind: message.kind,
      text:
        message.ignoredReason &&
        ![GROUP_EVENT, 'reaction'].includes(message.ignoredReason) &&
        effect?.kind !== 'takeover'
          ? ''
          : message.text,
      quotedText: message.ignoredReason ? undefined : message.quotedText,
      editOf: message.editOf,
      toUs: message.toUs,
      viewOnce: message.ignoredReason ? undefined : message.viewOnce,
      mentions: reason ? undefined : this.#named(message, chat),
      details: reason ? aboutOf(message) : this.#details(message, chat),
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
      edits: 0,
      stanzaOrder: message.stanzaOrder,
      sentAtMs: Math.trunc(message.sentAtMs),
      receivedAt: state.time(),
    };
    if (isReadableNow) Object.assign(row, content);
    state.messages.set(row.id, row);
    if (effect && isStored) ownerWrote(state, chat, effect, message.sentAtMs);

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
      ...(changed && { changed: String(changed.id) }),
    };
  }

  async original(
    edit: Pick<InboundMessage, 'accountId' | 'chat' | 'sender'>,
    waMessageId: string,
  ): Promise<OriginalMessage | undefined> {
    const state = this.#state;
    const known = ({ phone, lid }: { phone?: string; lid?: string }) => ({
      phone: phone ?? (lid && phoneOfLid(state, edit.accountId, lid)),
      lid: lid ?? (phone && lidOfPhone(state, edit.accountId, phone)),
    });
    const { chat } = edit;
    const isChat = (each: MemoryChat) =>
      each.accountId === edit.accountId &&
      (chat.kind === 'group'
        ? each.groupId === chat.groupId
        : isSamePerson({ phone: each.phone, lid: each.lid }, known(chat)));
    const sender = known(edit.sender);
    const found = [...state.chats.values()]
      .filter(isChat)
      .flatMap(({ id }) => state.messagesOf(id))
      .filter((message) => message.waMessageId === waMessageId)
      .map((message) => ({ message, isOfSender: isSameSender(message, sender) }))
      .sort((a, b) => Number(b.isOfSender) - Number(a.isOfSender))[0];
    if (!found) return undefined;
    const { senderPhone: phone, senderLid: lid, secret } = found.message;
    return {
      sender: { ...(phone && { phone }), ...(lid && { lid }) },
      isOfSender: found.isOfSender,
      isDecrypted: found.message.kind !== 'undecryptable',
      ...(secret && { secret }),
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

  async waiting(chatId: string, limit: number): Promise<{ turns: PendingTurn[]; nowMs: number }> {
    const chat = this.#state.chats.get(Number(chatId));
    const rows = chat ? this.#state.received(chat.id).slice(0, limit) : [];
    return { turns: rows.flatMap((row) => (chat ? this.#turnOf(chat, row) : [])), nowMs: this.#state.now() };
  }

  #oldest(chat: MemoryChat): PendingTurn | undefined {
    const [message] = this.#state.received(chat.id);
    return message && this.#turnOf(chat, message);
  }

  #turnOf(chat: MemoryChat, message: MemoryMessage): PendingTurn {
    const chatId = String(chat.id);
    const replies = [...this.#state.outbox.values()].filter((reply) => reply.chatId === chatId);
    return pendingTurn({
      ...message,
      mayHaveRun: message.attempts > message.clearedAttempts,
      receivedAtMs: message.receivedAt.getTime(),
      repliedAtMs: replies.at(-1)?.queuedAt.getTime(),
      messageId: String(message.id),
      chatId,
      chat: { phone: chat.phone, lid: chat.lid, groupId: chat.groupId, username: chat.username },
      replyTo: chat.replyTo,
      chatState: chat.policyState,
      isPaused: pauseModeOf(chat, this.#state.now()) === 'listen-only',
      isApproving: pauseModeOf(chat, this.#state.now()) === 'approve',
      isInLoop: pauseModeOf(chat, this.#state.now()) === 'auto-reply-loop',
      access: accessOf(chat, this.#state.now()),
    });
  }

  async countAttempt(
    messageId: string,
    attempt: number,
    { didNotRun = false, edits = 0, merged = [] }: CountOptions = {},
  ): Promise<{ stored: Promise<void> }> {
    for (const line of merged) {
      const row = this.#state.messages.get(Number(line.messageId));
      if (row?.state === 'received') row.mergedInto = messageId;
    }
    const message = this.#state.messages.get(Number(messageId));
    if (message) {
      message.attempts = Math.max(message.attempts, attempt);
      message.clearedAttempts = Math.max(message.clearedAttempts, didNotRun ? attempt : 0);
      if (message.edits > edits) message.editId ??= this.#newestEdit(message);
    }
    return { stored: Promise.resolve() };
  }

  async addPart(
    claim: ChatClaim,
    { messageId, edits = 0 }: Pick<PendingTurn, 'messageId' | 'edits'>,
    { accountId, to, waMessageId, text, quote }: NewReply,
  ): Promise<QueuedReply | undefined> {
    const message = this.#state.messages.get(Number(messageId));
    if (!this.#claimed(claim) || message?.state !== 'received' || message.edits !== edits) return undefined;
    const known = [...this.#state.outbox.values()].find(
      (row) => row.accountId === accountId && row.waMessageId === waMessageId,
    );
    if (known) return queuedReplyOf(known);
    const row = queueReply(
      this.#state,
      message,
      { accountId, to, waMessageId, text, ...(quote && { quote }) },
      'queued',
    );
    row.isPart = true;
    return queuedReplyOf(row);
  }

  async parts(messageId: string): Promise<StoredPart[]> {
    return [...this.#state.outbox.values()]
      .filter((row) => row.messageId === messageId && row.isPart && row.state !== 'dead')
      .map(({ waMessageId, text, state, queuedAt }) => ({
        waMessageId,
        text,
        isSent: state !== 'queued' && state !== 'sending',
        ageMs: this.#state.now() - queuedAt.getTime(),
      }));
  }

  async finishTurn(
    messageId: string,
    result: TurnResult,
    { claim, lease, turn }: EndOptions = {},
  ): Promise<FinishedTurn> {
    const state = this.#state;
    const message = state.messages.get(Number(messageId));
    const repliesNow = () => [...state.outbox.values()].filter((reply) => reply.messageId === messageId);
    let earlier = 0;
    let isSending = false;
    const isForOwner = result.state === 'ignored' && ACCESS_REASONS.includes(result.reason ?? '');
    const isApproved = message && state.chats.get(message.chatId)?.access?.state === 'approved';
    if (message?.state === 'received' && result.exchanges) {
      message.exchanges = [...(message.exchanges ?? []), ...result.exchanges];
    }
    if (message?.state === 'received' && turn && !this.#isCurrent(message, turn)) {
      return { replies: [], isClaimed: claim !== undefined && this.#oldestOrRelease(claim) !== undefined };
    }
    if (message?.state === 'received' && !(isForOwner && isApproved)) {
      for (const line of turn?.merged ?? []) {
        Object.assign(state.messages.get(Number(line.messageId)) ?? {}, {
          state: 'ignored',
          reason: 'merged',
          mergedInto: messageId,
          routeId: result.routeId,
          finishedAt: state.time(),
          trace: [
            {
              step: 'pace',
              outcome: 'merged',
              messageId,
              ...say('pace.part'),
            },
          ],
        });
      }
      earlier = repliesNow().length;
      const { replies, statePatch, isDraft, loop, ...end } = result;
      const chat = state.chats.get(message.chatId);
      const now = state.now();
      if (chat && loop === 'stopped' && pauseModeOf(chat, now) === undefined) {
        const reason = 'Two programs answered each other.';
        chat.pause = { sinceMs: now, reason, mode: 'auto-reply-loop' };
      } else if (chat?.pause?.mode === 'auto-reply-loop' && loop === 'over') chat.pause = undefined;
      if (chat && end.routeId !== undefined) chat.routeId = end.routeId;
      if (chat && statePatch) chat.policyState = { ...chat.policyState, ...statePatch };
      const reason = end.reason ?? (end.state === 'answered' ? undefined : 'unspecified');
      Object.assign(message, {
        ...end,
        reason,
        attempts: end.attempts ?? message.attempts,
        finishedAt: state.time(),
      });
      const isBehind = [...state.outbox.values()].some(
        (row) => row.chatId === String(message.chatId) && row.state === 'queued',
      );
      for (const reply of replies) queueReply(state, message, reply, isDraft ? 'draft' : 'queued');
      for (const { text, special } of repliesNow().slice(earlier)) {
        if (special?.kind !== 'edit') continue;
        const part = repliesNow().find((row) => row.isPart && row.waMessageId === special.of);
        if (part) part.text = text;
      }
      const [first] = repliesNow().slice(earlier);
      isSending = lease !== undefined && !isDraft && first !== undefined && !isBehind && this.#isHeld(lease);
      if (first && isSending)
        Object.assign(first, { state: 'sending', attempts: 1, attemptedAt: state.time() });
      if (end.state === 'dead' && reason) {
        state.addDeadLetter({
          accountId: message.accountId,
          chatId: message.chatId,
          messageId,
          reason,
          error: end.error ?? reason,
          ...(end.phrase && { phrase: end.phrase }),
          attempts: message.attempts,
          trace: end.trace,
        });
      }
    }
    const replies = repliesNow()
      .slice(earlier)
      .filter((row) => row.state !== 'draft')
      .map((row, index) => ({
        ...queuedReplyOf(row),
        ...(isSending && index === 0 && { isSending: true as const }),
      }));
    return { replies, isClaimed: claim !== undefined && this.#oldestOrRelease(claim) !== undefined };
  }

  async deadLetterUnreadable(
    claim: ChatClaim,
    why: { reason: ErrorCode; error: string; phrase?: Phrase },
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

  async saveTranscript(messageId: string, result: { text: string } | NoTranscript): Promise<void> {
    const message = this.#state.messages.get(Number(messageId));
    if (message?.state !== 'received' || message.text !== '') return;
    if ('text' in result) message.text = result.text;
    const found = 'text' in result ? { isTranscript: true as const } : { noTranscript: result };
    message.details = { ...message.details, ...found };
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

  async claimChats(chats: readonly ChatToClaim[], node: string): Promise<ChatClaim[]> {
    const claimed = chats.flatMap(({ chatId, epoch, isLeft }) => {
      const chat = this.#state.chats.get(Number(chatId));
      return chat?.workerEpoch === epoch ? [{ chat, isLeft }] : [];
    });
    const first = claimed.flatMap(({ chat, isLeft }) =>
      isLeft ? this.#state.received(chat.id).slice(0, 1) : [],
    );
    const hasOthers = first.some(({ suspicion = 0 }) => suspicion < 2);
    for (const message of first) {
      const { suspicion = 0, runsAlone } = message;
      if (!runsAlone && suspicion >= 2) continue;
      Object.assign(message, { runsAlone: false, suspicion: suspicion + (runsAlone && !hasOthers ? 2 : 1) });
    }
    return claimed.map(({ chat }) => claimChat(chat, node));
  }

  async releaseChats(node: string): Promise<void> {
    for (const chat of this.#state.chats.values()) {
      if (chat.workerNode === node && this.#state.received(chat.id).length > 0) chat.workerNode = undefined;
    }
  }

  async setAlone(messageId: string, runsAlone: boolean): Promise<void> {
    const message = this.#state.messages.get(Number(messageId));
    if (message?.state === 'received') message.runsAlone = runsAlone;
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

  /** Replaces the text of a message that waits for its answer. */
  #applyEdit(
    chat: MemoryChat,
    edit: InboundMessage,
    sender: { phone?: string; lid?: string },
  ): MemoryMessage | undefined {
    const target = this.#writtenBy(chat, edit.editOf, sender, ACCESS_REASONS);
    if (!target || this.#state.withTask.has(String(target.id))) return undefined;
    if (target.attempts > 0 || target.mergedInto !== undefined) target.editId = edit.waMessageId;
    target.text = edit.text;
    target.mentions = this.#named(edit, chat);
    target.toUs = edit.toUs ?? target.toUs;
    if (edit.details?.card) target.details = { ...target.details, card: edit.details.card };
    target.edits += 1;
    target.clearedAttempts = target.attempts;
    return target;
  }

  #newestEdit({
    id,
    chatId,
    waMessageId,
    editOf,
    senderPhone,
    senderLid,
  }: MemoryMessage): string | undefined {
    return this.#state
      .messagesOf(chatId)
      .filter(
        (other) =>
          other.id > id &&
          other.reason === 'edit-applied' &&
          (other.editOf === waMessageId || other.editOf === editOf) &&
          isSamePerson(
            { phone: senderPhone, lid: senderLid },
            { phone: other.senderPhone, lid: other.senderLid },
          ),
      )
      .at(-1)?.waMessageId;
  }

  /** The message of this WhatsApp id that this person wrote; unanswered, or ignored for one of these reasons. */
  #writtenBy(
    chat: MemoryChat,
    waMessageId: string | undefined,
    sender: { phone?: string; lid?: string },
    reasons: readonly string[],
  ): MemoryMessage | undefined {
    return this.#state
      .messagesOf(chat.id)
      .sort((a, b) => Number(a.stanzaOrder - b.stanzaOrder) || a.id - b.id)
      .filter(
        (message) =>
          (message.state === 'received' || reasons.includes(message.reason ?? '')) &&
          (message.waMessageId === waMessageId || message.editOf === waMessageId) &&
          isSamePerson(sender, { phone: message.senderPhone, lid: message.senderLid }),
      )
      .at(-1);
  }

  /** Whether the messages of a turn are still as the turn has them. */
  #isCurrent(message: MemoryMessage, { edits = 0, merged = [] }: NonNullable<EndOptions['turn']>): boolean {
    if (message.edits !== edits) return false;
    return merged.every((line) => {
      const row = this.#state.messages.get(Number(line.messageId));
      return row?.state === 'received' && row.edits === (line.edits ?? 0);
    });
  }

  #details(message: InboundMessage, chat: MemoryChat): StoredDetails | undefined {
    const { details } = message;
    if (!details?.quoted) return details;
    const mentions = [{ ...details.quoted, tag: '' }];
    const [{ tag: _, ...quoted } = { tag: '' }] = this.#named({ ...message, mentions }, chat) ?? [];
    return { ...details, quoted };
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
  const { id, chatId, messageId, accountId, to, waMessageId, text, media, quote, special, timerSeconds } =
    reply;
  const more = {
    ...(timerSeconds !== undefined && { timerSeconds }),
    ...(special && { special }),
    ...(reply.mentions && { mentions: reply.mentions }),
  };
  const answers = messageId !== undefined && { messageId };
  return {
    outboxId: id,
    chatId,
    ...answers,
    ...(reply.suspicion && { suspicion: reply.suspicion }),
    message: { accountId, to, waMessageId, text, ...(media && { media }), ...(quote && { quote }), ...more },
  };
}

/** Stores a reply to a message. Without a state: `draft` where the owner approves answers (as SQL's `first_reply_state`). */
export function queueReply(
  state: MemoryState,
  message: MemoryMessage,
  reply: TurnResult['replies'][number],
  given?: 'draft' | 'queued',
): MemoryReply {
  const chat = state.chats.get(message.chatId);
  const isApproving = chat !== undefined && pauseModeOf(chat, state.now()) === 'approve';
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
    quote: reply.quote,
    special: reply.special,
    timerSeconds: state.chats.get(message.chatId)?.timerSeconds || undefined,
    file: reply.file && { bytes: reply.file },
    state: given ?? (isApproving ? 'draft' : 'queued'),
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

/** What a deletion or a reaction is about. */
function aboutOf({ ignoredReason, deletes, reactsTo }: InboundMessage) {
  const of = deletes ?? reactsTo;
  return ignoredReason === undefined || of === undefined ? undefined : { of };
}
