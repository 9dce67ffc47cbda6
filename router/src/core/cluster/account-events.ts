import { chatHash, jidHash } from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import { messageRefused } from '../delivery/govern-contacts.ts';
import { LeaseLostError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { channelIdsOf, replyToOf } from '../messages/chat-identity.ts';
import type { ChatAddress, InboundMessage } from '../messages/inbound-message.ts';
import { type OwnerCommandDeps, runOwnerCommand } from '../messages/owner-commands.ts';
import type { Environment } from '../models.ts';
import { ownerEffectOf } from '../policies/access.ts';
import { commandIn } from '../policies/session.ts';
import type { AccountStatus, MessageReceipt, ProviderEvents } from '../ports/chat-provider.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { Fence } from '../ports/cluster.ts';
import type { Inbox, NewMessage, Stored } from '../ports/inbox.ts';
import type { MessageIntake } from '../ports/key-store.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { policyOfChat, type RouteDeps } from '../routing/route-message.ts';
import { messageToRoute } from '../routing/when.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';
import type { AccountRegistry, ClusterAccounts } from './cluster-view.ts';

interface AccountEventsDeps
  extends Omit<ReceiveDeps, 'log' | 'workers'>,
    SelfChatDeps,
    Omit<RouteDeps, 'chatStore' | 'routes'>,
    Omit<OwnerCommandDeps, 'chatStore' | 'outbox' | 'workers'> {
  chatStore: OwnerCommandDeps['chatStore'] & RouteDeps['chatStore'] & Pick<ChatStore, 'lock' | 'nameGroup'>;
  workers: ReceiveDeps['workers'];
  fence: Fence;
  outbox: Pick<Outbox, 'recordReceipts' | 'markRefused' | 'refusedRow' | 'findByWaId'>;
  registry: AccountRegistry;
  accounts: Pick<ClusterAccounts, 'changed'>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Shows pairing codes on the admin's terminal. */
  onStatus?(status: AccountStatus): void;
  /** Bound to the account. */
  log: Logger;
}

/** While an account cannot connect, it says so again after this time. */
const LOG_RETRY_EVERY_MS = 60_000;

/** What happens when the connection of an account of this node reports something. */
export class AccountEvents implements ProviderEvents, MessageIntake {
  readonly #deps: AccountEventsDeps;
  #wasConnected = false;
  #wasLimited = false;
  #lastLogged = '';
  #loggedMs = 0;

  constructor(deps: AccountEventsDeps) {
    this.#deps = deps;
  }

  /** @throws {LeaseLostError} {StorageUnavailableError} nothing was stored */
  async receive(message: InboundMessage): Promise<void> {
    const { fence } = this.#deps;
    if (!fence.isHeld()) throw new LeaseLostError(fence.accountId);
    const given = await runOwnerCommand(this.#deps, message);
    // A command stays what it is, also where a route names the self-chat.
    const ruled = given.ignoredReason === undefined ? await applySelfChatRule(this.#deps, given) : given;
    const ours = await applyOwnerRule(this.#deps, ruled);
    await receiveMessage(this.#deps, await applyEditRule(this.#deps, ours));
  }

  /** Messages that none of the rules of `receive` is about. */
  toStore(message: InboundMessage): NewMessage | undefined {
    const { isFromOwner, isSelfChat, editOf, deletes } = message;
    const hasRule = isFromOwner || isSelfChat || editOf !== undefined || deletes !== undefined;
    return hasRule ? undefined : { message, node: this.#deps.workers.nodeForNextChat() };
  }

  stored(message: InboundMessage, result: Stored): void {
    beginTurn(this.#deps, message, result);
  }

  receipts(receipts: MessageReceipt[]): Promise<void> {
    const { fence, outbox, registry } = this.#deps;
    // The store knows the chat that a receipt of others must come from.
    const acked = receipts.filter(({ state }) => state === 'acked').map(({ waMessageId }) => waMessageId);
    registry.delivery(fence.accountId)?.acknowledged(acked);
    return outbox.recordReceipts(fence.accountId, receipts);
  }

  refused(waMessageId: string, code: string, limitLeftMs?: number): Promise<void> {
    const { fence, outbox } = this.#deps;
    return messageRefused(outbox, { accountId: fence.accountId, waMessageId, code, limitLeftMs });
  }

  /** @throws {LeaseLostError} {StorageUnavailableError} nothing was stored */
  async chatLocked(chat: ChatAddress, isLocked: boolean): Promise<void> {
    const { fence, chatStore } = this.#deps;
    if (!fence.isHeld()) throw new LeaseLostError(fence.accountId);
    await chatStore.lock(fence.accountId, chat, isLocked);
  }

  /** @throws {LeaseLostError} {StorageUnavailableError} nothing was stored */
  async groupNamed(groupId: string, name: string): Promise<void> {
    const { fence, chatStore } = this.#deps;
    if (!fence.isHeld()) throw new LeaseLostError(fence.accountId);
    await chatStore.nameGroup(fence.accountId, groupId, name);
  }

  status(status: AccountStatus): void {
    this.#log(status);
    const isConnected = status.isConnected ?? status.state === 'open';
    const isLimited = status.limitLeftMs !== undefined;
    const delivery = this.#deps.registry.delivery(status.accountId);
    if (isConnected && !this.#wasConnected) {
      delivery?.resume().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'cannot read stored replies, retrying at the next connection');
      });
    } else if (isConnected && isLimited !== this.#wasLimited) void delivery?.limitChanged();
    else if (isConnected) delivery?.pollQueue();
    this.#wasConnected = isConnected;
    this.#wasLimited = isLimited;
    this.#deps.accounts.changed(status);
    this.#deps.onStatus?.(status);
  }

  /** A new QR code, every few seconds, is logged at debug; so are further attempts to connect, but one a minute. */
  #log({ state, reason, nextAction, retryAtMs, problems }: AccountStatus): void {
    const fields = { state, reason, nextAction, retryAtMs, problems };
    // The time of the next attempt is not logged again.
    const isRetrying = state === 'waiting' || state === 'proxy-failed';
    const text = JSON.stringify(isRetrying ? { state, reason, problems } : fields);
    const nowMs = this.#deps.clock.monotonicMs();
    const isRepeated =
      text === this.#lastLogged && !(isRetrying && nowMs - this.#loggedMs >= LOG_RETRY_EVERY_MS);
    this.#deps.log[isRepeated ? 'debug' : 'info'](fields, 'account state');
    this.#lastLogged = text;
    if (!isRepeated) this.#loggedMs = nowMs;
  }
}

interface ReceiveDeps {
  inbox: Pick<Inbox, 'add'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve' | 'stopTurn'>;
  /** Called once for each message that was stored, for metrics. */
  observeReceived?(accountId: string): void;
  log: Logger;
}

/**
 * Provider → inbox → chat worker: stores a message and, in the same transaction, claims its chat when no worker has it;
 * then starts its turn. Idempotent: a message that is stored already changes nothing.
 * @throws {StorageUnavailableError} nothing was stored; call again
 */
export async function receiveMessage(deps: ReceiveDeps, message: InboundMessage): Promise<void> {
  beginTurn(deps, message, await deps.inbox.add(message, deps.workers.nodeForNextChat()));
}

/** Starts the worker of the chat of a stored message unless it runs, which is not awaited. */
function beginTurn(
  { workers, observeReceived, log }: Omit<ReceiveDeps, 'inbox'>,
  message: InboundMessage,
  { messageId, chatId, outcome, worker, isNewWorker, turn, changed }: Stored,
): void {
  const { accountId, waMessageId, ignoredReason } = message;
  const hashes = { chat: chatHash(chatId), jidHash: jidHash(accountId, replyToOf(message)) };
  const isNew = outcome === 'stored';
  log.info(
    { messageId, waMessageId, ...hashes, outcome, ...(isNew && { ignoredReason }) },
    'message received',
  );
  if (isNew) observeReceived?.(accountId);
  if (!worker) return;
  const isStop = ignoredReason === undefined && commandIn(message.text) === 'stop';
  if (isStop && !isNewWorker && (message.chat.kind === 'person' || message.toUs)) workers.stopTurn(worker);
  workers.serve(worker, !isNewWorker, { turn, changed });
}

/**
 * Applies the rule of takeovers: what the owner writes by hand in a chat that has a route pauses the chat (`takeover`), and
 * `#pause` and `#resume` are commands. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyOwnerRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  if (!message.isFromOwner) return message;
  const { text } = message;
  const { reason, settings } = await policyOfChat(deps, messageToRoute(message));
  // Nobody but the owner answers here.
  if (reason === 'no-route' || reason === 'disabled') return message;
  const ownerEffect = ownerEffectOf(text, settings);
  if (!ownerEffect) return message;
  const ignoredReason = ownerEffect.kind === 'takeover' ? 'owner-message' : message.ignoredReason;
  return { ...message, ownerEffect, ignoredReason };
}

interface SelfChatDeps {
  routes: Pick<RouteStore, 'candidates'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  environment: Environment;
}

/**
 * Applies the rule of the self-chat ("message yourself"): a message in it counts as a person's when an enabled route
 * names the chat by its channelId. The wildcard does not name it, and wa2ai's own replies never count, so a reply is
 * never answered. Otherwise it is ignored as `own-message`. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or replies cannot be read
 */
export async function applySelfChatRule(
  deps: SelfChatDeps,
  message: InboundMessage,
): Promise<InboundMessage> {
  if (!message.isSelfChat) return message;
  const isAnswered = (await isRouted(deps, message)) && !(await isOwnReply(deps, message));
  return isAnswered ? message : { ...message, ignoredReason: 'own-message' };
}

async function isRouted({ routes, environment }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  const { accountId, chat } = message;
  if (chat.kind === 'group') return false;
  const channelIds = channelIdsOf(chat);
  const candidates = await routes.candidates({ accountId, environment, channelIds });
  return candidates.some(({ enabled, channelId }) => enabled && channelIds.includes(channelId));
}

async function isOwnReply({ outbox }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  return (await outbox.findByWaId(message.accountId, message.waMessageId)) !== undefined;
}

/**
 * Applies `edits: ignore`: an edit is stored and never answered (`edit-ignored`), and a deletion ends no message. The
 * setting is that of the route for the new text; a deletion has none. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyEditRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  const { editOf, deletes, ignoredReason } = message;
  const isEdit = editOf !== undefined && ignoredReason === undefined;
  if (!isEdit && deletes === undefined) return message;
  const { settings } = await policyOfChat(deps, messageToRoute(message));
  if (settings.edits === 'follow') return message;
  if (isEdit) return { ...message, ignoredReason: 'edit-ignored' };
  const { deletes: _, ...deletion } = message;
  return deletion;
}
