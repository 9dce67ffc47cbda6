import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import { UnsupportedBaileysError } from '../../../core/errors.ts';

/** Functions of a socket that wa2ai calls. */
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
 * Checks the functions of a socket, and removes Baileys' own listener of message stanzas.
 * @returns the listener
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one; nothing was removed
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
