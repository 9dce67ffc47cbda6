import type { Caller } from '../access/caller.ts';

/** A call to wa2ai, or what a person did in a shell. It never contains a body, a text or a secret. */
export interface AuditEvent {
  /** To a millisecond, by the clock of the node. */
  at: Date;
  /** The protocol: `rest`; `shell` for commands of people. */
  face: string;
  /** `person`: somebody on WhatsApp who uses a shell. */
  caller: Caller['kind'] | 'person';
  /** Of a key of the API. */
  keyId?: string;
  /** Name of the user whose session it was. */
  user?: string;
  /** The operation: `createRoute`. */
  action: string;
  /** Id of what was read, created or changed. */
  object?: string;
  /** `ok`, or the code of the error. */
  outcome: string;
  requestId: string;
  /** Of the caller, or of the proxy before it. */
  address?: string;
}

/** A stored event. */
export interface AuditEntry extends AuditEvent {
  /** Position in the log, from 1, without gaps. */
  seq: bigint;
  /** Hash of this entry and of the hash before it, in hexadecimal digits. */
  hash: string;
}

/** A position of the log with its hash. */
interface AuditMark {
  seq: bigint;
  /** In hexadecimal digits; of position 0: 64 zeros. */
  hash: string;
}

/** Both ends of the log: `head` is the last entry, `anchor` the last one that retention has removed. */
export interface AuditChain {
  head: AuditMark;
  anchor: AuditMark;
}

/** Which entries. All conditions must match. */
export interface AuditQuery {
  since?: Date;
  until?: Date;
  caller?: AuditEvent['caller'];
  keyId?: string;
  user?: string;
  action?: string;
  object?: string;
  outcome?: string;
  requestId?: string;
  address?: string;
  /** Only entries before this position. */
  before?: bigint;
  limit: number;
}

/**
 * The calls of all nodes in one order, each chained to the one before it by a hash.
 * @throws {StorageUnavailableError} from every method
 */
export interface AuditLog {
  /** Appends events in their order, all or none. Not idempotent. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Entries, newest first. */
  entries(query: AuditQuery): Promise<AuditEntry[]>;
  chain(): Promise<AuditChain>;
}

/**
 * What the hash of an entry covers, besides the hash before it: its position, a space and the fields as a JSON array. It
 * must not change: `wa2ai audit verify` computes it for entries that other versions wrote.
 */
export function auditText(seq: bigint | string, event: AuditEvent): string {
  return `${seq} ${auditFields(event)}`;
}

/**
 * The part of `auditText` that is known before the entry has its position. The name of a user is at the end, and only in
 * entries that have one: entries that older versions wrote keep their text.
 */
export function auditFields(event: AuditEvent): string {
  const { at, face, caller, keyId, user, action, object, outcome, requestId, address } = event;
  const optional = (text: string | undefined) => text ?? null;
  return JSON.stringify([
    at.toISOString(),
    face,
    caller,
    optional(keyId),
    action,
    optional(object),
    outcome,
    requestId,
    optional(address),
    ...(user === undefined ? [] : [user]),
  ]);
}

/** What an entry of the audit log says about its caller. */
export function auditedCaller(caller: Caller): Pick<AuditEvent, 'caller' | 'keyId' | 'user'> {
  if (caller.kind === 'key') return { caller: caller.kind, keyId: caller.key.id };
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return { caller: caller.kind, ...(user && { user: user.name }) };
}
