import type { IncomingMessage } from 'node:http';
import makeWASocket, { type BinaryNode, type SocketConfig, type WASocket } from '@whiskeysockets/baileys';
import { UnsupportedBaileysError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { AuthState } from '../signal/auth-state.ts';
import { type AccountSignal, createAccountSignal } from '../signal/signal-repository.ts';
import type { AccountProxy } from './account-proxy.ts';
import { removePairingListener, takeMessageListener } from './check-surface.ts';
import { type SocketMemory, socketConfig } from './socket-config.ts';
import { gateWrites } from './write-gate.ts';

export interface OpenSocketInput {
  accountId: string;
  auth: AuthState;
  memory: SocketMemory;
  getMessage: SocketConfig['getMessage'];
  /** Called with the name of a group that is sent to. */
  groupNamed(jid: string, name: string): void;
  /** Called before each write to the socket; false prevents it and destroys the socket. */
  mayUse(): boolean;
  whatsappWsUrl?: string;
  version?: readonly [number, number, number];
  /** Absent: it connects directly. */
  proxy?: AccountProxy;
  log: Logger;
}

export interface OpenedSocket {
  socket: WASocket;
  signal: AccountSignal;
  /** Baileys' own listener of message stanzas, which was removed from the socket. */
  baileysListener(node: BinaryNode): void;
}

/**
 * Makes a Baileys socket that uses the account's Signal steps and writes through the write gate. It connects at once.
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one
 */
export function openSocket(input: OpenSocketInput): OpenedSocket {
  const { auth, memory, mayUse } = input;
  let signal: AccountSignal | undefined;
  const socket: WASocket = makeWASocket(
    socketConfig({
      accountId: input.accountId,
      auth,
      memory,
      log: input.log,
      whatsappWsUrl: input.whatsappWsUrl,
      version: input.version,
      proxy: input.proxy,
      getMessage: input.getMessage,
      groupMetadata: async (jid) => {
        const known = memory.groups.get(jid);
        if (known) return known;
        const fresh = await socket.groupMetadata(jid);
        memory.groups.set(jid, fresh);
        input.groupNamed(jid, fresh.subject);
        return fresh;
      },
      makeSignalRepository: ({ creds, keys }, logger, ask) => {
        // Baileys' own transactions would serialize all sends of the account and defer their writes. Signal's writes are
        // units of steps already, and the others are single writes. Workaround: refs/baileys-workarounds.md.
        Object.assign(keys, { transaction: <T>(work: () => Promise<T>) => work() });
        signal = createAccountSignal(auth.steps, creds, logger, ask, memory.withoutLid);
        return signal.repository;
      },
    }),
  );
  socket.ws.on('upgrade', (response: IncomingMessage) => gateWrites(response.socket, auth.commits, mayUse));
  try {
    const baileysListener = takeMessageListener(socket);
    removePairingListener(socket);
    if (!signal) throw new UnsupportedBaileysError('the socket makes no Signal repository');
    return { socket, signal, baileysListener };
  } catch (error) {
    socket.end(undefined);
    throw error;
  }
}
