/**
 * Settings that admins change while wa2ai runs: of the servers of A2A, MCP and NPC, of conversations and of sends, each under a name.
 * @throws {StorageUnavailableError} from every method
 */
export interface SettingsStore {
  /** Undefined: nobody has stored any. */
  get(name: string): Promise<unknown>;
  /**
   * Applies on all nodes soon.
   * @param check called with what is stored, which the change replaces: nothing else is stored between the two. The
   *   Wa2aiError that it throws prevents the change
   */
  put(name: string, settings: unknown, check?: (stored: unknown) => void): Promise<void>;
  /** Stores settings if there are none. @returns what is stored now: of nodes that do this concurrently, one succeeds */
  putFirst(name: string, settings: unknown): Promise<unknown>;
}
