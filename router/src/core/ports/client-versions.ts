/** What all nodes know about versions. Times are epoch milliseconds. */
export interface StoredVersions {
  /** Every known version; a refused one has `refusedAtMs`. */
  versions: ReadonlyArray<{ version: string; firstSeenMs: number; refusedAtMs?: number }>;
  /** The last look-up: its success if it had one, and whether one runs now on any node. */
  lookUp: { version?: string; url?: string; foundAtMs?: number; isRunning: boolean };
}

/** When a look-up is due: all nodes together make no more. */
export interface LookUpDue {
  /** The last success must be older, in milliseconds; 0: any. */
  maxAgeMs: number;
  /** The last attempt must have begun earlier than this many milliseconds ago. */
  minGapMs: number;
}

/** @throws {StorageUnavailableError} from every method; nothing was changed */
export interface ClientVersionStore {
  read(): Promise<StoredVersions>;
  /** Begins a look-up if it is due and none runs on any node. @returns false: do not look up now */
  begin(due: LookUpDue): Promise<boolean>;
  /** Ends a look-up. @param found absent: it failed, and the last success stays */
  end(found?: { version: string; url: string }): Promise<void>;
  /** Notes a version that a setting names, unless it is known. */
  see(version: string): Promise<void>;
  /** WhatsApp refuses the version, or accepts it again. The first refusal counts. */
  setRefused(version: string, isRefused: boolean): Promise<void>;
}
