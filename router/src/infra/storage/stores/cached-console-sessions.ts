import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type {
  ConsoleSession,
  ConsoleSessions,
  NewSession,
  SessionLookup,
  StoredSession,
} from '../../../core/ports/console-sessions.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';

/** An ended session works no longer than this, also on a node that missed the notification. */
const MAX_AGE_MS = 1_000;
/** `markSeen` writes less often than this for one session. */
const MARK_EVERY_MS = 60_000;

/**
 * Finds sessions in a copy of the whole table, as CachedApiKeyStore does with keys: a request with an invented cookie costs
 * no statement. Every change of a session or a user makes all nodes read it again.
 */
export class CachedConsoleSessions implements ConsoleSessions, SessionLookup {
  readonly #table: ConsoleSessions;
  readonly #clock: Clock;
  readonly #cache: NotifiedCache<ReadonlyMap<string, StoredSession>>;
  /** When a use was last written, on the monotonic clock. */
  readonly #markedAtMs = new Map<string, number>();

  constructor(table: ConsoleSessions, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
    // One entry: the table.
    this.#cache = new NotifiedCache(bus.transport, clock, {
      maxSize: 1,
      sizeOf: () => 1,
      maxAgeMs: MAX_AGE_MS,
    });
    bus.on('users-changed', () => this.#cache.clear());
  }

  create(session: NewSession): Promise<ConsoleSession | undefined> {
    return this.#cache.change(() => this.#table.create(session));
  }

  all(): Promise<StoredSession[]> {
    return this.#table.all();
  }

  async find(tokenHash: Uint8Array): Promise<StoredSession | undefined> {
    return (await this.#copy()).get(nameOf(tokenHash));
  }

  async byId(id: string): Promise<StoredSession | undefined> {
    return [...(await this.#copy()).values()].find((session) => session.id === id);
  }

  end(id: string): Promise<boolean> {
    return this.#cache.change(() => this.#table.end(id));
  }

  endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    return this.#cache.change(() => this.#table.endAllOf(userName, exceptId));
  }

  async markSeen(id: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#markedAtMs.get(id);
    if (lastMs !== undefined && nowMs - lastMs < MARK_EVERY_MS) return;
    this.#markedAtMs.set(id, nowMs);
    await this.#table.markSeen(id);
  }

  #copy(): Promise<ReadonlyMap<string, StoredSession>> {
    return this.#cache.read('all', async () => {
      const sessions = await this.#table.all();
      const ids = new Set(sessions.map(({ id }) => id));
      for (const id of this.#markedAtMs.keys()) if (!ids.has(id)) this.#markedAtMs.delete(id);
      return new Map(sessions.map((session) => [nameOf(session.tokenHash), session]));
    });
  }
}

function nameOf(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash).toString('hex');
}
