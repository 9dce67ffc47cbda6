import type { FaceSettings } from '../../router/src/core/ports/face-settings.ts';

/** Settings of faces in memory. */
export class MemoryFaceSettings implements FaceSettings {
  readonly #settings = new Map<string, string>();

  async get(face: string): Promise<unknown> {
    const stored = this.#settings.get(face);
    return stored === undefined ? undefined : JSON.parse(stored);
  }

  async put(face: string, settings: unknown): Promise<void> {
    this.#settings.set(face, JSON.stringify(settings));
  }
}
