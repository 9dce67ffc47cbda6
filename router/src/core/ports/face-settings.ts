/**
 * Settings of protocols spoken to wa2ai, which admins change while it runs.
 * @throws {StorageUnavailableError} from every method
 */
export interface FaceSettings {
  /** Undefined: nobody has stored any. */
  get(face: string): Promise<unknown>;
  /**
   * Applies on all nodes soon.
   * @param check called with what is stored, which the change replaces: nothing else is stored between the two. The
   *   Wa2aiError that it throws prevents the change
   */
  put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void>;
  /** Stores settings if there are none. @returns what is stored now: of nodes that do this at once, one succeeds */
  putFirst(face: string, settings: unknown): Promise<unknown>;
}
