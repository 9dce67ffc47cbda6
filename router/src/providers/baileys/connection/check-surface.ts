import * as installed from '@whiskeysockets/baileys';
import { UnsupportedBaileysError } from '../../../core/errors.ts';

/** What wa2ai uses of the package, with its type; a test compares the names with the imports. */
export const EXPORTS: Readonly<Record<string, 'function' | 'number' | 'object' | 'string'>> = {
  default: 'function',
  'Browsers.macOS': 'function',
  'BufferJSON.replacer': 'function',
  'BufferJSON.reviver': 'function',
  'DEFAULT_CONNECTION_CONFIG.makeSignalRepository': 'function',
  'DEFAULT_CONNECTION_CONFIG.version': 'object',
  DEFAULT_ORIGIN: 'string',
  MISSING_KEYS_ERROR_TEXT: 'string',
  'NACK_REASONS.ParsingError': 'number',
  'NACK_REASONS.UnhandledError': 'number',
  'Curve.generateKeyPair': 'function',
  'Curve.sharedKey': 'function',
  S_WHATSAPP_NET: 'string',
  buildPairingQRData: 'function',
  bytesToCrockford: 'function',
  cleanMessage: 'function',
  decodeMessageNode: 'function',
  decryptMediaRetryData: 'function',
  decryptMessageNode: 'function',
  encryptMediaRetryRequest: 'function',
  generateWAMessageContent: 'function',
  getBinaryNodeChild: 'function',
  getBinaryNodeChildBuffer: 'function',
  getBinaryNodeChildren: 'function',
  getMediaKeys: 'function',
  initAuthCreds: 'function',
  isJidGroup: 'function',
  isLidUser: 'function',
  isPnUser: 'function',
  jidDecode: 'function',
  jidNormalizedUser: 'function',
  normalizeMessageContent: 'function',
  'proto.Message.decode': 'function',
  'proto.Message.encode': 'function',
  'proto.WebMessageInfo.StubType.CIPHERTEXT': 'number',
  unpadRandomMax16: 'function',
};

/** Functions of the Signal repository that wa2ai wraps or calls. */
export const REPOSITORY_FUNCTIONS = [
  'decryptMessage',
  'decryptGroupMessage',
  'encryptMessage',
  'encryptGroupMessage',
  'processSenderKeyDistributionMessage',
  'getSenderKeyDistributionMessage',
  'injectE2ESession',
  'deleteSession',
  'migrateSession',
  'validateSession',
  'getSessionInfo',
  'hasSenderKey',
  'jidToSignalProtocolAddress',
  'lidMapping.storeLIDPNMappings',
  'lidMapping.getLIDsForPNs',
  'lidMapping.getPNForLID',
  'lidMapping.getPNsForLIDs',
  'lidMapping.close',
] as const;

/** Functions of a socket that wa2ai calls. */
export const SOCKET_FUNCTIONS = [
  'sendReceipt',
  'sendMessageAck',
  'sendRetryRequest',
  'upsertMessage',
  'sendMessage',
  'relayMessage',
  'sendPresenceUpdate',
  'readMessages',
  'resyncAppState',
  'groupMetadata',
  'sendNode',
  'waUploadToServer',
  'query',
  'generateMessageTag',
  'fetchAccountReachoutTimelock',
  'fetchNewChatMessageCap',
  'requestPairingCode',
  'logout',
  'end',
  'ev.emit',
  'ev.on',
  'ev.off',
  'ws.on',
  'ws.off',
  'ws.prependListener',
  'ws.listeners',
  'authState.keys.set',
  'signalRepository.decryptMessage',
] as const;

/**
 * Checks the package once, before any account is started.
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one
 */
export function checkBaileys(library: object = installed): void {
  for (const [name, type] of Object.entries(EXPORTS)) {
    const found = typeof at(library, name);
    if (found !== type) throw new UnsupportedBaileysError(`${name} is ${found} instead of ${type}`);
  }
  const { makeSignalRepository } = (library as typeof installed).DEFAULT_CONNECTION_CONFIG;
  const repository = makeSignalRepository({ creds: {}, keys: {} } as never, {} as never, undefined);
  requireFunctions(repository, REPOSITORY_FUNCTIONS, 'the Signal repository');
}

/**
 * Checks the parts of a socket, and removes Baileys' own listener of message stanzas. Workaround:
 * refs/baileys-workarounds.md.
 * @returns the listener
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one; nothing was removed
 */
export function takeMessageListener(socket: installed.WASocket): Listener {
  requireFunctions(socket, SOCKET_FUNCTIONS, 'the socket');
  // Baileys makes one for its cache of recent messages only.
  if (socket.messageRetryManager) {
    requireFunctions(socket.messageRetryManager, ['cancelPendingPhoneRequest'], 'messageRetryManager');
  }
  return takeListener(socket, 'CB:message', 'message stanzas');
}

/** Event of the stanza with the refs of QR codes. */
export const PAIR_DEVICE = 'CB:iq,type:set,pair-device';

/**
 * Removes Baileys' own listener of `pair-device`: wa2ai makes the QR codes. Workaround: refs/baileys-workarounds.md.
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one; nothing was removed
 */
export function removePairingListener(socket: installed.WASocket): void {
  takeListener(socket, PAIR_DEVICE, 'pair-device stanzas');
}

function takeListener(socket: installed.WASocket, event: string, what: string): Listener {
  const listeners = socket.ws.listeners(event);
  const [listener] = listeners;
  if (listeners.length !== 1 || !listener) {
    throw new UnsupportedBaileysError(`${listeners.length} listeners of ${what} instead of one`);
  }
  socket.ws.off(event, listener as Listener);
  return listener as Listener;
}

type Listener = (node: installed.BinaryNode) => void;

function requireFunctions(owner: object, paths: readonly string[], what: string): void {
  for (const path of paths) {
    if (typeof at(owner, path) !== 'function') throw new UnsupportedBaileysError(`${what} has no ${path}`);
  }
}

/** The value at a path of names separated by dots; undefined when a part is missing. */
function at(owner: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (value as Record<string, unknown> | undefined)?.[name], owner);
}
