import type { BaileysEventMap, BinaryNode, WAMessage, WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/logger.ts';
import { field } from '../messages/proto-values.ts';
import { PAIR_DEVICE } from './check-surface.ts';

/** Whether WhatsApp locks messages to new contacts. Ends are by WhatsApp's time; absent when it named none. */
export interface ReachOutLock {
  isActive: boolean;
  untilMs?: number;
  /** Such as RESTRICT_ALL_COMPANIONS; absent: WhatsApp named none. */
  type?: string;
}

/** How many chats the account began in this cycle, and whether it may begin more. */
export interface NewChatCap {
  isCapped: boolean;
  used?: number;
  quota?: number;
  untilMs?: number;
}

/** Handlers of the socket events that the provider uses. Errors of a handler are logged. */
interface SocketHandlers {
  /** The `success` stanza of a login. */
  loggedIn(node: BinaryNode): void;
  /** `hasStateKey`: the phone sent a key of the app state, which is stored. */
  creds(hasStateKey: boolean): void;
  /** The `pair-device` stanza: the socket is ready to pair. */
  pairDevice(node: BinaryNode): void | Promise<void>;
  /** The `companion_reg_refresh` notification. */
  pairingRefreshed(node: BinaryNode): void | Promise<void>;
  /** The `passkey_prologue_request` notification. */
  passkeyRequested(node: BinaryNode): void | Promise<void>;
  /** The `crsc_continuation` notification. */
  passkeyContinued(node: BinaryNode): void | Promise<void>;
  /** The phone linked this device; the server now ends the connection with 515. */
  paired(): void;
  reachOutLocked(lock: ReachOutLock): void;
  newChatsCounted(cap: NewChatCap): void;
  receipt(node: BinaryNode): void;
  ack(node: BinaryNode): void | Promise<void>;
  upsert(message: WAMessage, type: 'notify' | 'append'): void;
  /** `subject` is set when the group has a new name. */
  groupChanged(jid: string, subject?: string): void | Promise<void>;
  chatLocked(jid: string, isLocked: boolean): Promise<void>;
}

/**
 * Listens to one socket. Receipts and acks are read from the WebSocket client, where Baileys does not buffer them, and
 * stanzas of pairing, which Baileys does not know.
 * Workaround: refs/baileys-workarounds.md.
 * @returns removes all listeners
 */
export function listenTo(socket: WASocket, log: Logger, handlers: SocketHandlers): () => void {
  const guarded =
    <A extends unknown[]>(what: string, handle: (...args: A) => void | Promise<void>) =>
    (...args: A): void => {
      const failed = (error: unknown) => log.error({ err: error, event: what }, 'socket event not handled');
      try {
        handle(...args)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    };

  const onCreds = guarded('creds.update', (update: BaileysEventMap['creds.update']) =>
    handlers.creds(update.myAppStateKeyId !== undefined),
  );
  const onUpdate = guarded('connection.update', (update: BaileysEventMap['connection.update']) => {
    if (update.isNewLogin) handlers.paired();
    const lock = update.reachoutTimeLock;
    if (lock) handlers.reachOutLocked(reachOutLockOf(lock));
  });
  const onCap = guarded('message-capping.update', (cap: BaileysEventMap['message-capping.update']) =>
    handlers.newChatsCounted(newChatCapOf(cap)),
  );
  const onUpsert = guarded('messages.upsert', (upsert: BaileysEventMap['messages.upsert']) => {
    for (const message of upsert.messages) handlers.upsert(message, upsert.type);
  });
  const onGroups = guarded('groups.update', (updates: BaileysEventMap['groups.update']) => {
    for (const { id, subject } of updates) if (id) handlers.groupChanged(id, ...(subject ? [subject] : []));
  });
  const onMembers = guarded(
    'group-participants.update',
    (update: BaileysEventMap['group-participants.update']) => handlers.groupChanged(update.id),
  );
  const onLock = guarded('chats.lock', ({ id, locked }: BaileysEventMap['chats.lock']) =>
    handlers.chatLocked(id, locked),
  );
  const onSuccess = guarded('success stanza', (node: BinaryNode) => handlers.loggedIn(node));

  const stanzas = {
    [PAIR_DEVICE]: guarded('pair-device stanza', (node: BinaryNode) => handlers.pairDevice(node)),
    'CB:notification,type:companion_reg_refresh': guarded('pairing refresh', (node: BinaryNode) =>
      handlers.pairingRefreshed(node),
    ),
    'CB:notification,type:passkey_prologue_request': guarded('passkey request', (node: BinaryNode) =>
      handlers.passkeyRequested(node),
    ),
    'CB:notification,type:crsc_continuation': guarded('passkey continuation', (node: BinaryNode) =>
      handlers.passkeyContinued(node),
    ),
    'CB:receipt': guarded('receipt stanza', (node: BinaryNode) => handlers.receipt(node)),
    'CB:ack,class:message': guarded('ack stanza', (node: BinaryNode) => handlers.ack(node)),
  };

  const { ev, ws } = socket;
  ev.on('creds.update', onCreds);
  ev.on('connection.update', onUpdate);
  ev.on('message-capping.update', onCap);
  ev.on('messages.upsert', onUpsert);
  ev.on('groups.update', onGroups);
  ev.on('group-participants.update', onMembers);
  ev.on('chats.lock', onLock);
  ws.prependListener('CB:success', onSuccess);
  for (const [event, listener] of Object.entries(stanzas)) ws.on(event, listener);
  return () => {
    ev.off('creds.update', onCreds);
    ev.off('connection.update', onUpdate);
    ev.off('message-capping.update', onCap);
    ev.off('messages.upsert', onUpsert);
    ev.off('groups.update', onGroups);
    ev.off('group-participants.update', onMembers);
    ev.off('chats.lock', onLock);
    ws.off('CB:success', onSuccess);
    for (const [event, listener] of Object.entries(stanzas)) ws.off(event, listener);
  };
}

/** An end that a time cannot have counts as none. */
function reachOutLockOf({
  isActive,
  timeEnforcementEnds,
  enforcementType,
}: NonNullable<BaileysEventMap['connection.update']['reachoutTimeLock']>): ReachOutLock {
  const untilMs = timeEnforcementEnds?.getTime();
  const type = String(enforcementType ?? '');
  // Baileys says DEFAULT for a type that it does not know.
  const isNamed = /^[A-Z][A-Z_]{2,60}$/.test(type) && type !== 'DEFAULT';
  return {
    isActive: isActive ?? false,
    ...(untilMs !== undefined && Number.isFinite(untilMs) && { untilMs }),
    ...(isNamed && { type }),
  };
}

/** Reads what WhatsApp says about new chats, loosely: numbers may be text, and its times are seconds. */
export function newChatCapOf(found: unknown): NewChatCap {
  const count = (name: string) => {
    const value = field(found, name);
    const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
    return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  };
  const [used, quota, ends] = [count('used_quota'), count('total_quota'), count('cycle_end_timestamp')];
  return {
    isCapped: field(found, 'capping_status') === 'CAPPED',
    ...(used !== undefined && { used }),
    ...(quota !== undefined && { quota }),
    ...(ends && { untilMs: ends * 1_000 }),
  };
}
