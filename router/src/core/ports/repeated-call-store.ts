/** Which calls repeat one another. */
export interface CallName {
  /** Keys of different callers are different. */
  caller: string;
  /** Of the header `Idempotency-Key`. */
  key: string;
}

/** The response of a call that a repeat gets. */
export interface StoredResponse {
  status: number;
  headers?: Record<string, string | string[]>;
  /** Id of what was created. */
  object?: string;
  json: unknown;
}

/** The first call with an `Idempotency-Key`. */
export interface FirstCall {
  operation: string;
  /** Of its parameters and body. */
  digest: Uint8Array;
  salt: Uint8Array;
  /** A UUID from which the operation makes the ids of what it creates. */
  repeatId: string;
  /** Absent: the call runs, or ended with the process or a failure of the database. */
  response?: StoredResponse;
}

/** The first call with each `Idempotency-Key`, for a day. @throws {StorageUnavailableError} from every method */
export interface RepeatedCallStore {
  find(name: CallName): Promise<FirstCall | undefined>;
  /** Stores a call that begins. @returns the stored call: another one when the key was used meanwhile */
  begin(name: CallName, call: FirstCall): Promise<FirstCall>;
  end(name: CallName, response: StoredResponse): Promise<void>;
  /** The call created nothing: the key is free again. */
  forget(name: CallName): Promise<void>;
}
