/** What happened in an account in a time. */
export interface StatCounts {
  /** Messages that were stored. */
  messages: number;
  /** Turns that ended with an answer. */
  answers: number;
  /** Turns that ended as dead. */
  failures: number;
  /** Answer times by bucket; see `bucketOf`. */
  times: number[];
}

/** What one node counted in an account since its last report. */
export interface AccountCounts extends StatCounts {
  accountId: string;
}

export interface StatPoint extends StatCounts {
  /** When the time of the point begins, epoch milliseconds. */
  atMs: number;
}

export interface StatQuery {
  /** Absent: all accounts. */
  accountId?: string;
  fromMs: number;
  /** Length of a point, in milliseconds: whole minutes; from an hour on, whole hours. */
  stepMs: number;
}

/** Counts of all nodes by minute, for two days, and by hour, for 31 days. @throws {StorageUnavailableError} */
export interface Stats {
  /** Adds counts to the minute and the hour of `atMs`, in one transaction. */
  add(atMs: number, counts: readonly AccountCounts[]): Promise<void>;
  /** Points in which something happened, oldest first. */
  read(query: StatQuery): Promise<StatPoint[]>;
}
