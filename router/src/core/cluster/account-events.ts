import type { Clock } from '../clock.ts';
import { messageRefused } from '../delivery/govern-contacts.ts';
import { LeaseLostError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ChatAddress, InboundMessage } from '../messages/inbound-message.ts';
import {
  applyEditRule,
  applyOwnerRule,
  applySelfChatRule,
  beginTurn,
  type OwnerCommandDeps,
  type ReceiveDeps,
  receiveMessage,
  runOwnerCommand,
  type SelfChatDeps,
} from '../messages/receive-message.ts';
import type { AccountStatus, MessageReceipt, ProviderEvents } from '../ports/chat-provider.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { Fence } from '../ports/cluster.ts';
import type { NewMessage, Stored } from '../ports/inbox.ts';
import type { MessageIntake } from '../ports/key-store.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { RouteDeps } from '../routing/route-message.ts';
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
