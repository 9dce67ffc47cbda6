import type { NodeBus } from '../../core/cluster/node-bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type {
  ConsoleSession,
  ConsoleSessions,
  NewSession,
  SessionLookup,
  StoredSession,
} from '../../core/ports/console-sessions.ts';
import { CachedTable } from '../../infra/db/stores/cached-table.ts';
import type { NotifyingTransport } from '../../infra/db/stores/notified-cache.ts';

/**
 * Finds sessions in a copy of the table. Every change of a session or a user makes all nodes read it again; a node that
 * missed the notification refuses an ended session after at most a second.
 */
export class CachedConsoleSessions implements ConsoleSessions, SessionLookup {
  readonly #table: ConsoleSessions;
  /** By the hash of the token. */
  readonly #copy: CachedTable<StoredSession>;

  constructor(table: ConsoleSessions, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#copy = new CachedTable(bus, clock, {
      changed: 'users-changed',
      all: () => table.all(),
      keyOf: ({ tokenHash }) => hex(tokenHash),
    });
  }

  create(session: NewSession): Promise<ConsoleSession | undefined> {
    return this.#copy.change(() => this.#table.create(session));
  }

  all(): Promise<StoredSession[]> {
    return this.#table.all();
  }

  async find(tokenHash: Uint8Array): Promise<StoredSession | undefined> {
    return (await this.#copy.rows()).get(hex(tokenHash));
  }

  async byId(id: string): Promise<StoredSession | undefined> {
    return [...(await this.#copy.rows()).values()].find((session) => session.id === id);
  }

  end(id: string): Promise<boolean> {
    return this.#copy.change(() => this.#table.end(id));
  }

  endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    return this.#copy.change(() => this.#table.endAllOf(userName, exceptId));
  }

  markSeen(id: string): Promise<void> {
    return this.#copy.markUsed(id, () => this.#table.markSeen(id));
  }
}

function hex(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash).toString('hex');
}
