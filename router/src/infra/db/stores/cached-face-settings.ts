import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';

/** Faces are few. */
const MAX_FACES = 20;

/** Reads the settings of a face once, and again after a change on any node. */
export class CachedFaceSettings implements FaceSettings {
  readonly #table: FaceSettings;
  readonly #cache: NotifiedCache<{ settings: unknown }>;

  constructor(table: FaceSettings, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#cache = new NotifiedCache(bus.transport, clock, { maxSize: MAX_FACES, sizeOf: () => 1 });
    bus.on('settings-changed', () => this.#cache.clear());
  }

  async get(face: string): Promise<unknown> {
    const { settings } = await this.#cache.read(face, async () => ({
      settings: await this.#table.get(face),
    }));
    return settings;
  }

  put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    return this.#cache.change(() => this.#table.put(face, settings, check));
  }

  putFirst(face: string, settings: unknown): Promise<unknown> {
    return this.#cache.change(() => this.#table.putFirst(face, settings));
  }
}
