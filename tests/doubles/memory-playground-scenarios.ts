import type {
  PlaygroundScenarios,
  SavedScenario,
} from '../../router/src/features/playground/scenario-store.ts';

/** Saved scenarios in memory. */
export class MemoryPlaygroundScenarios implements PlaygroundScenarios {
  #ids = 0;
  readonly #byName = new Map<string, SavedScenario & { yaml: string }>();

  async list(): Promise<SavedScenario[]> {
    return [...this.#byName.values()]
      .map(({ yaml: _, ...saved }) => saved)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(id: string): Promise<(SavedScenario & { yaml: string }) | undefined> {
    return [...this.#byName.values()].find((saved) => saved.id === id);
  }

  async save(name: string, yaml: string): Promise<SavedScenario> {
    const id = this.#byName.get(name)?.id ?? String(++this.#ids);
    const saved = { id, name, savedAt: new Date(0) };
    this.#byName.set(name, { ...saved, yaml });
    return saved;
  }

  async remove(id: string): Promise<boolean> {
    const found = await this.get(id);
    return found !== undefined && this.#byName.delete(found.name);
  }
}
