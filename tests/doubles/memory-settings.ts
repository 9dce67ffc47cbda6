import type { SettingsStore } from '../../router/src/core/ports/settings-store.ts';

/** Settings of servers in memory. */
export class MemorySettings implements SettingsStore {
  readonly #settings = new Map<string, unknown>();

  async get(face: string): Promise<unknown> {
    return structuredClone(this.#settings.get(face));
  }

  async put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    check?.(structuredClone(this.#settings.get(face)));
    this.#settings.set(face, structuredClone(settings));
  }

  async putFirst(face: string, settings: unknown): Promise<unknown> {
    if (!this.#settings.has(face)) await this.put(face, settings);
    return this.get(face);
  }
}
