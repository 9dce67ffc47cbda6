/** A scenario that was saved. */
export interface SavedScenario {
  id: string;
  name: string;
  savedAt: Date;
}

/**
 * Saved scenarios of the playground.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface PlaygroundScenarios {
  /** By name, at most 1,000. */
  list(): Promise<SavedScenario[]>;
  /** With its text. */
  get(id: string): Promise<(SavedScenario & { yaml: string }) | undefined>;
  /** Saves a scenario; one with the same name is replaced and keeps its id. */
  save(name: string, yaml: string): Promise<SavedScenario>;
  /** @returns false when there is none */
  remove(id: string): Promise<boolean>;
}
