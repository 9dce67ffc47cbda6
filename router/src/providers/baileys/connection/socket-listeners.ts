import type { BaileysEventMap, BinaryNode, WAMessage, WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';

/** What a socket tells, cut to what the provider uses. A handler may reject or throw: it is logged and nothing ends. */
export interface SocketHandlers {
  /** The `success` stanza of a login. */
  loggedIn(node: BinaryNode): void;
  creds(): void;
  /** A fresh code, the first when the socket is ready to pair. */
  qr(text: string): void | Promise<void>;
  /** The phone linked this device; the server now ends the connection with 515. */
  paired(): void;
  /** WhatsApp limits writing to strangers, or does no longer; the end by WhatsApp's time, when it named one. */
  limited(isActive: boolean, untilMs: number | undefined): void;
  /** A `message` stanza, before Baileys sees it. */
  stanza(node: BinaryNode): void;
  /** Baileys has begun with it. */
  stanzaTaken(): void;
  /** All that waited at WhatsApp while this device was not connected has reached the socket. */
  offlineDelivered(): void;
  receipt(node: BinaryNode): void;
  ack(node: BinaryNode): void | Promise<void>;
  upsert(message: WAMessage, type: 'notify' | 'append'): void;
  groupChanged(jid: string): void;
}

/**
 * Listens to one socket. Message stanzas, receipts and acks are read off the WebSocket client, where nothing buffers
 * them. The returned function takes all listeners off.
 */
export function listenTo(socket: WASocket, log: Logger, handlers: SocketHandlers): () => void {
  const guarded =
    <A extends unknown[]>(what: string, handle: (...args: A) => void | Promise<void>) =>
    (...args: A): void => {
      const failed = (error: unknown) =>
        log.error({ err: error, event: what }, 'a socket event was not handled');
      try {
        handle(...args)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    };

  const onCreds = guarded('creds.update', () => handlers.creds());
  const onUpdate = guarded('connection.update', (update: BaileysEventMap['connection.update']) => {
    if (update.isNewLogin) handlers.paired();
    const lock = update.reachoutTimeLock;
    if (lock) handlers.limited(lock.isActive ?? false, lock.timeEnforcementEnds?.getTime());
    if (update.qr) return handlers.qr(update.qr);
  });
  const onUpsert = guarded('messages.upsert', (upsert: BaileysEventMap['messages.upsert']) => {
    for (const message of upsert.messages) handlers.upsert(message, upsert.type);
  });
  const onGroups = guarded('groups.update', (updates: BaileysEventMap['groups.update']) => {
    for (const { id } of updates) if (id) handlers.groupChanged(id);
  });
  const onMembers = guarded(
    'group-participants.update',
    (update: BaileysEventMap['group-participants.update']) => handlers.groupChanged(update.id),
  );
  const onSuccess = guarded('success stanza', (node: BinaryNode) => handlers.loggedIn(node));
  const onStanza = guarded('message stanza', (node: BinaryNode) => handlers.stanza(node));
  const onTaken = guarded('message stanza taken', () => handlers.stanzaTaken());
  const onOffline = guarded('end of the offline stanzas', () => handlers.offlineDelivered());
  const onReceipt = guarded('receipt stanza', (node: BinaryNode) => handlers.receipt(node));
  const onAck = guarded('ack stanza', (node: BinaryNode) => handlers.ack(node));

  const { ev, ws } = socket;
  ev.on('creds.update', onCreds);
  ev.on('connection.update', onUpdate);
  ev.on('messages.upsert', onUpsert);
  ev.on('groups.update', onGroups);
  ev.on('group-participants.update', onMembers);
  ws.prependListener('CB:success', onSuccess);
  ws.prependListener('CB:message', onStanza);
  ws.on('CB:message', onTaken);
  ws.on('CB:ib,,offline', onOffline);
  ws.on('CB:receipt', onReceipt);
  ws.on('CB:ack,class:message', onAck);
  return () => {
    ev.off('creds.update', onCreds);
    ev.off('connection.update', onUpdate);
    ev.off('messages.upsert', onUpsert);
    ev.off('groups.update', onGroups);
    ev.off('group-participants.update', onMembers);
    ws.off('CB:success', onSuccess);
    ws.off('CB:message', onStanza);
    ws.off('CB:message', onTaken);
    ws.off('CB:ib,,offline', onOffline);
    ws.off('CB:receipt', onReceipt);
    ws.off('CB:ack,class:message', onAck);
  };
}
