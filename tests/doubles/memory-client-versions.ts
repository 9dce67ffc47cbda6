import type { ClientVersionStore, LookUpDue, StoredVersions } from '../../router/src/core/client-version.ts';
import type { Clock } from '../../router/src/core/clock.ts';
import { ClientVersions } from '../../router/src/providers/baileys/connection/client-versions.ts';
import { quietLog } from '../support/quiet-log.ts';

const RUNNING_FOR_MS = 15_000;

/** Versions of WhatsApp Web, in memory; several nodes may share it. */
export class MemoryClientVersions implements ClientVersionStore {
  readonly #versions = new Map<string, { firstSeenMs: number; refusedAtMs?: number }>();
  readonly #clock: Pick<Clock, 'now'>;
  #lookUp:
    | { begunAtMs: number; endedAtMs?: number; foundAtMs?: number; version?: string; url?: string }
    | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  async read(): Promise<StoredVersions> {
    const { version, url, foundAtMs } = this.#lookUp ?? {};
    return {
      versions: [...this.#versions].map(([name, row]) => ({ version: name, ...row })),
      lookUp: { ...definedOf({ version, url, foundAtMs }), isRunning: this.#isRunning() },
    };
  }

  async begin({ maxAgeMs, minGapMs }: LookUpDue): Promise<boolean> {
    const nowMs = this.#clock.now();
    const { foundAtMs = Number.NEGATIVE_INFINITY, begunAtMs = Number.NEGATIVE_INFINITY } = this.#lookUp ?? {};
    const isDue = nowMs - foundAtMs > maxAgeMs || maxAgeMs === 0;
    if (this.#isRunning() || !isDue || (nowMs - begunAtMs <= minGapMs && minGapMs !== 0)) return false;
    this.#lookUp = { ...this.#lookUp, begunAtMs: nowMs, endedAtMs: undefined };
    return true;
  }

  async end(found?: { version: string; url: string }): Promise<void> {
    const nowMs = this.#clock.now();
    this.#lookUp = {
      begunAtMs: nowMs,
      ...this.#lookUp,
      endedAtMs: nowMs,
      ...(found && { ...found, foundAtMs: nowMs }),
    };
    if (found) await this.see(found.version);
  }

  async see(version: string): Promise<void> {
    if (!this.#versions.has(version)) this.#versions.set(version, { firstSeenMs: this.#clock.now() });
  }

  async setRefused(version: string, isRefused: boolean): Promise<void> {
    const nowMs = this.#clock.now();
    const { firstSeenMs = nowMs, refusedAtMs = nowMs } = this.#versions.get(version) ?? {};
    if (isRefused) this.#versions.set(version, { firstSeenMs, refusedAtMs });
    else if (this.#versions.has(version)) this.#versions.set(version, { firstSeenMs });
  }

  #isRunning(): boolean {
    if (!this.#lookUp || this.#lookUp.endedAtMs !== undefined) return false;
    return this.#clock.now() - this.#lookUp.begunAtMs <= RUNNING_FOR_MS;
  }
}

function definedOf<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** The version that is part of Baileys, without look-ups. */
export function builtInVersion(clock: Clock): ClientVersions {
  return new ClientVersions({
    setting: 'built-in',
    url: 'http://127.0.0.1/sw.js',
    ways: async () => [],
    store: new MemoryClientVersions(clock),
    clock,
    log: quietLog,
    random: () => 0,
  });
}
