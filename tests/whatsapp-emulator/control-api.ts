import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DEFAULT_ACCOUNT, endpointsOf } from './control-endpoints.ts';
import { answer } from './control-http.ts';
import type { WhatsAppEmulator } from './emulator.ts';
import { Participants } from './participants.ts';
import { TranscriptFeed } from './transcript-feed.ts';

/**
 * JSON over HTTP on loopback that controls everything except the client under test: people, groups, phones, and
 * faults of the server. `GET /` lists the endpoints.
 */
export class ControlApi {
  readonly url: string;
  readonly participants: Participants;
  readonly #server: Server;

  private constructor(server: Server, participants: Participants) {
    this.#server = server;
    this.participants = participants;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @throws the listen error when the port is taken */
  static async start(emulator: WhatsAppEmulator, port = 0): Promise<ControlApi> {
    const participants = new Participants(emulator);
    participants.phone(DEFAULT_ACCOUNT);
    const endpoints = endpointsOf(emulator, participants, new TranscriptFeed(emulator));
    const server = createServer((request, response) => void answer(endpoints, request, response));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return new ControlApi(server, participants);
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
