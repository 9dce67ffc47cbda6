/** A file of a person, as a link contains it. */
export interface LinkedFile {
  accountId: string;
  /** Absent: of a link that an earlier release made. */
  messageId?: string;
  /** The provider's reference to the file; a secret. */
  reference: string;
  /** As the sender wrote it. */
  mimeType: string;
  fileName?: string;
}

/** Links to files of people, for agents. Each node can open the links of the others. */
export interface MediaLinks {
  /** This wa2ai knows its own address. Without it there are no links. */
  readonly isOn: boolean;
  /**
   * An address from which the file can be loaded for an hour; undefined unless `isOn`.
   * @throws {StorageUnavailableError}
   */
  urlOf(file: LinkedFile): Promise<string | undefined>;
  /**
   * What a link leads to, by the last part of its address.
   * @returns `expired`, or `unknown` for what no wa2ai of this database made
   * @throws {StorageUnavailableError}
   */
  open(token: string): Promise<LinkedFile | 'expired' | 'unknown'>;
}
