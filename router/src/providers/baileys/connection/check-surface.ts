import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import { UnsupportedBaileysError } from '../../../core/errors.ts';

/** Functions of a socket that wa2ai calls beside the documented ones for sending and pairing. */
export const SOCKET_FUNCTIONS = [
  'sendReceipt',
  'sendMessageAck',
  'sendRetryRequest',
  'upsertMessage',
  'sendMessage',
  'relayMessage',
  'sendPresenceUpdate',
  'groupMetadata',
  'sendNode',
  'waUploadToServer',
  'requestPairingCode',
  'logout',
  'end',
] as const satisfies readonly (keyof WASocket)[];

/**
 * Takes Baileys' own listener off the message stanzas.
 * @throws {UnsupportedBaileysError} this Baileys differs from the one that wa2ai was written for
 */
export function takeMessageListener(socket: WASocket): (node: BinaryNode) => void {
  for (const name of SOCKET_FUNCTIONS) {
    if (typeof socket[name] !== 'function') throw new UnsupportedBaileysError(`the socket has no ${name}`);
  }
  const listeners = socket.ws.listeners('CB:message');
  const [listener] = listeners;
  if (listeners.length !== 1 || !listener) {
    throw new UnsupportedBaileysError(`${listeners.length} listeners of message stanzas instead of one`);
  }
  socket.ws.off('CB:message', listener as (node: BinaryNode) => void);
  return listener as (node: BinaryNode) => void;
}
