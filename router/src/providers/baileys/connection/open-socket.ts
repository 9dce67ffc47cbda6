import makeWASocket, {
  type BinaryNode,
  type SignalKeyStoreWithTransaction,
  type SocketConfig,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';
import { AheadDecryption } from '../signal/ahead-decryption.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { KeyedLock } from '../signal/keyed-lock.ts';
import type { SendScopes } from '../signal/send-scope.ts';
import { createSignalRepository, type DecryptHooks } from '../signal/signal-repository.ts';
import { StanzaQueue } from '../signal/stanza-queue.ts';
import { type SocketMemory, socketConfig } from './socket-config.ts';
import { releasesStorage } from './transaction-storage.ts';

export interface OpenSocketInput {
  auth: AuthState;
  memory: SocketMemory;
  hooks: DecryptHooks;
  /** Names the chat of a message stanza. */
  chatOf(attrs: BinaryNode['attrs']): string;
  /** More messages came than could be held: only the next connection brings the rest. */
  onShort(): void;
  sends: SendScopes;
  locks: KeyedLock;
  getMessage: SocketConfig['getMessage'];
  /** Asked before each piece that leaves the socket; on false nothing leaves. */
  mayUse(): boolean;
  whatsappWsUrl?: string;
  version?: readonly [number, number, number];
  log: Logger;
}

export interface OpenedSocket {
  socket: WASocket;
  /** Of this socket alone; to be told of each stanza before Baileys sees it. */
  ahead: AheadDecryption;
  /** Of this socket alone; to be told which stanzas Baileys will decrypt, and closed when they are not told any more. */
  queue: StanzaQueue;
  /**
   * Runs work in a key transaction of this socket. Baileys sends in one named after the account, so one after the
   * other in all chats, each waiting for the store; inside one of ours it joins that.
   */
  transact<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** The socket has ended: what it would keep of the process's memory and time is given back. */
  release(): void;
}

/** Makes a Baileys socket, which connects at once, with what compensates for its defects. */
export function openSocket(input: OpenSocketInput): OpenedSocket {
  const { auth, memory, hooks, sends, locks } = input;
  const ahead = new AheadDecryption();
  const queue = new StanzaQueue({
    chatOf: input.chatOf,
    emit: (event, node) => emit(event, node),
    onShort: input.onShort,
    log: input.log,
  });
  let keys: SignalKeyStoreWithTransaction | undefined;
  let release = (): void => undefined;
  const socket: WASocket = makeWASocket(
    socketConfig({
      auth,
      memory,
      log: input.log,
      whatsappWsUrl: input.whatsappWsUrl,
      version: input.version,
      getMessage: input.getMessage,
      groupMetadata: async (jid) => {
        const known = memory.groups.get(jid);
        if (known) return known;
        const fresh = await socket.groupMetadata(jid);
        memory.groups.set(jid, fresh);
        return fresh;
      },
      onRecipients: (jids) => sends.expect(jids),
      makeSignalRepository: (state, logger, askForLids) => {
        keys = state.keys as SignalKeyStoreWithTransaction;
        release = releasesStorage(keys);
        const { withoutLid } = memory;
        return createSignalRepository(
          { hooks, ahead, queue, sends, locks, withoutLid },
          state,
          logger,
          askForLids,
        );
      },
    }),
  );
  guardWrites(socket, input.mayUse);
  const emit = emitThrough(socket, queue);
  return {
    socket,
    ahead,
    queue,
    transact: (name, work) => {
      if (!keys) throw new Error('Baileys made no signal repository with its socket');
      return keys.transaction(work, name);
    },
    release: () => release(),
  };
}

/**
 * Baileys asks `isOpen` in the very step that writes: a process that slept since its last look at the lease, or was told
 * to abandon the account, is stopped here.
 */
function guardWrites({ ws }: WASocket, mayUse: () => boolean): void {
  const client: object = Object.getPrototypeOf(ws);
  Object.defineProperty(ws, 'isOpen', {
    get: () => mayUse() && Boolean(Reflect.get(client, 'isOpen', ws)),
  });
}

/** Baileys emits each stanza that it reads; what the queue keeps is emitted later. Returns what passes the queue by. */
function emitThrough({ ws }: WASocket, queue: StanzaQueue): (event: string, node: BinaryNode) => boolean {
  const emit = ws.emit.bind(ws);
  ws.emit = (event, ...args) => queue.keeps(event, args[0]) || emit(event, ...args);
  return emit;
}
