import { type Phrase, type Said, say } from './phrases.ts';

/**
 * What to do after an error: `retry` retry later · `dead` no retry helps · `uncertain` it may have happened: never
 * retried without a check.
 */
export type Disposition = 'retry' | 'dead' | 'uncertain';

/** As `AGENT_TIMEOUT`: a reason in lower case is never a code. */
export type ErrorCode = Uppercase<string>;

/**
 * Base of every error thrown on purpose. `code` is stable and machine-readable (`AGENT_TIMEOUT`), the message is a
 * sentence an operator can act on, without a secret or message text.
 */
export class Wa2aiError extends Error {
  readonly code: ErrorCode;
  readonly disposition: Disposition;
  #detail: Record<string, unknown> | undefined;
  readonly #phrase: Phrase | undefined;

  /** @param said with its phrase, unless only terminals and programs show it, or another system said it */
  constructor(code: ErrorCode, disposition: Disposition, said: Said, options?: { cause?: unknown }) {
    super(said.sentence, options);
    this.#phrase = said.phrase;
    this.name = new.target.name;
    this.code = code;
    this.disposition = disposition;
  }

  /** Its sentence, with the phrase that it was made with. */
  get said(): Said {
    return { sentence: this.message, ...(this.#phrase && { phrase: this.#phrase }) };
  }

  /** What the message log shows besides the sentence. It may contain message text, so no serializer of errors sees it. */
  get detail(): Record<string, unknown> | undefined {
    return this.#detail;
  }

  withDetail(detail: Record<string, unknown>): this {
    this.#detail = detail;
    return this;
  }
}

/** Makes the base class of an error that has only its code, disposition and sentence. */
export function errorOf(code: ErrorCode, disposition: Disposition) {
  return class extends Wa2aiError {
    constructor(said: Said, options?: { cause?: unknown }) {
      super(code, disposition, said, options);
    }
  };
}

/** Whether a retry can help. An error that is not one of wa2ai's is a defect, and a retry fails too. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Wa2aiError && error.disposition === 'retry';
}

/** The database did not execute a statement; nothing was stored and the caller may call again. */
export class StorageUnavailableError extends Wa2aiError {
  /** The database works and answered with an error: the statement or its values may be the cause. */
  readonly isAnswer: boolean;

  constructor(said: Said, options?: { cause?: unknown; code?: ErrorCode; isAnswer?: boolean }) {
    super(options?.code ?? 'STORAGE_UNAVAILABLE', 'retry', said, options);
    this.isAnswer = options?.isAnswer ?? false;
  }
}

/**
 * The database rejects a value: the same call always fails. Nothing was stored. Happens only for values that the edges of
 * the service should have rejected or shortened.
 */
export class StorageRejectedError extends errorOf('STORAGE_REJECTED', 'dead') {}

/**
 * Why the database cannot be used until an operator acts: the disk is full · it is read-only · a privilege is missing ·
 * its tables are not those of this version · a value is encrypted with a key that this node does not have · a newer
 * version has migrated it, so this node must be updated.
 */
export type StorageTrouble = 'full' | 'read-only' | 'rights' | 'schema' | 'key' | 'newer';

const TROUBLE_CODES: Record<StorageTrouble, ErrorCode> = {
  full: 'STORAGE_FULL',
  'read-only': 'STORAGE_READ_ONLY',
  rights: 'STORAGE_RIGHTS',
  schema: 'STORAGE_SCHEMA',
  key: 'STORAGE_KEY',
  newer: 'STORAGE_NEWER',
};

/** The database cannot be used until an operator acts; the sentence says how. Nothing was stored. */
export class StorageTroubleError extends StorageUnavailableError {
  readonly trouble: StorageTrouble;

  constructor(trouble: StorageTrouble, said: Said, options?: { cause?: unknown }) {
    super(said, { ...options, code: TROUBLE_CODES[trouble] });
    this.trouble = trouble;
  }
}

/** The WhatsApp connection is not open; nothing was sent. */
export class NotConnectedError extends Wa2aiError {
  constructor(accountId: string, options?: { cause?: unknown }) {
    super('NOT_CONNECTED', 'retry', say('send.not-connected', { account: accountId }), options);
  }
}

/**
 * The proxy of an account does not connect to WhatsApp; nothing was sent. It has no cause: the errors of proxy clients quote
 * addresses and passwords.
 */
export class ProxyFailedError extends Wa2aiError {
  /** The proxy answered, and refused. */
  readonly isRefusal: boolean;

  /** @param said without the address of the proxy */
  constructor(said: Said, { isRefusal }: { isRefusal: boolean }) {
    super('PROXY_FAILED', 'retry', said);
    this.isRefusal = isRefusal;
  }
}

/** This node has lost the lease of the account; nothing was stored or sent. */
export class LeaseLostError extends StorageUnavailableError {
  constructor(accountId: string) {
    super(say('storage.lease-lost', { account: accountId }), { code: 'LEASE_LOST' });
  }
}

/** No node that answers has the account connected; the command can be repeated. */
export class AccountNotHeldError extends Wa2aiError {
  constructor(accountId: string, node?: string) {
    const account = accountId;
    const said =
      node === undefined
        ? say('account.not-run', { account })
        : say('account.node-silent', { node, account });
    super('ACCOUNT_NOT_HELD', 'retry', said);
  }
}

/**
 * The stored credentials of the account cannot be read: it cannot log in, and only an operator may decide to replace
 * them.
 */
export class CredentialsDamagedError extends Wa2aiError {
  constructor(options?: { cause?: unknown }) {
    super('CREDENTIALS_DAMAGED', 'dead', say('account.credentials-damaged'), options);
  }
}

/** The installed Baileys is not the one that wa2ai was written for: it must not connect. */
export class UnsupportedBaileysError extends Wa2aiError {
  /** @param difference part of a sentence: "the socket has no sendReceipt" */
  constructor(difference: string) {
    super('BAILEYS_UNSUPPORTED', 'dead', say('account.baileys-unsupported', { difference }));
  }
}

/** Pairing was requested while the account is linked; nothing was changed. */
export class AlreadyLinkedError extends Wa2aiError {
  constructor(accountId: string) {
    super('ALREADY_LINKED', 'dead', say('account.linked-already', { account: accountId }));
  }
}

/** What the owner pasted is not an answer to WhatsApp's request for a passkey; another one can be given. */
export class PasskeyAnswerError extends errorOf('PASSKEY_ANSWER', 'dead') {}

/** WhatsApp does not wait for this step of linking with a passkey. */
export class PasskeyNotAskedError extends Wa2aiError {
  constructor(accountId: string) {
    super('PASSKEY_NOT_ASKED', 'dead', say('passkey.not-asked', { account: accountId }));
  }
}

/** A send whose bytes may have reached WhatsApp; repeat only with the same WhatsApp id. */
export class SendUncertainError extends errorOf('SEND_UNCERTAIN', 'uncertain') {}

/** A file could not be uploaded: nothing was sent to the chat, and a retry may help. */
export class UploadFailedError extends errorOf('UPLOAD_FAILED', 'retry') {}

/** WhatsApp refused a message; no repeat helps (an error ack, an address that does not exist). */
export class SendRefusedError extends errorOf('SEND_REFUSED', 'dead') {}

/** WhatsApp did not say whether a number has an account; a retry may help. */
export class LookUpFailedError extends errorOf('LOOK_UP_FAILED', 'retry') {}

/** WhatsApp has no account with this number; nothing was sent. */
export class NotOnWhatsAppError extends Wa2aiError {
  constructor() {
    super('NOT_ON_WHATSAPP', 'dead', say('send.not-on-whatsapp'));
  }
}

/** A file that a program wants to send cannot be sent: not loaded, too large, or not of its kind. Nothing was stored. */
export class FileRefusedError extends errorOf('FILE_REFUSED', 'dead') {}

/** Why a message's file cannot be loaded, with the sentence for the person who sent it. */
const MEDIA_FAILURES = {
  /** WhatsApp's servers cannot be reached or are slow: a retry may help. */
  MEDIA_UNAVAILABLE: ['retry', 'I could not load your file just now. Please send it again in a while.'],
  /** WhatsApp has deleted it, or never had it. */
  MEDIA_GONE: ['dead', 'Your file is no longer available. Please send it again.'],
  /** It is not what the message says it is. */
  MEDIA_BROKEN: ['dead', 'Your file arrived damaged. Please send it again.'],
  MEDIA_TOO_LARGE: ['dead', 'Your file is too large. Please send one of at most 10 MB.'],
} as const satisfies Record<string, readonly [Disposition, string]>;

/** The file of a message could not be loaded. The agent was not called. */
export class MediaError extends Wa2aiError {
  /** A polite sentence for the chat, without any detail. */
  readonly forPerson: string;

  constructor(code: keyof typeof MEDIA_FAILURES, said: Said, options?: { cause?: unknown }) {
    const [disposition, forPerson] = MEDIA_FAILURES[code];
    super(code, disposition, said, options);
    this.forPerson = forPerson;
  }
}

/** The agent did not accept the request: sending it again is safe. */
export class AgentUnavailableError extends Wa2aiError {
  readonly retryAfterMs: number | undefined;
  /**
   * The agent cannot be reached (no connection, or a 429, 502 or 503): it may be starting, and a retry has no side
   * effect.
   */
  readonly isAway: boolean;
  /** The request may have reached the agent: the client looks for its run before it sends another one. */
  readonly mayHaveRun: boolean;
  constructor(
    said: Said,
    options?: { cause?: unknown; retryAfterMs?: number; isAway?: boolean; mayHaveRun?: boolean },
  ) {
    super('AGENT_UNAVAILABLE', 'retry', said, options);
    this.retryAfterMs = options?.retryAfterMs;
    this.isAway = options?.isAway ?? false;
    this.mayHaveRun = options?.mayHaveRun ?? false;
  }
}

/**
 * The agent may have accepted the request and did not answer in time; a retry without a check could run the turn twice.
 */
export class AgentTimeoutError extends errorOf('AGENT_TIMEOUT', 'uncertain') {}

/**
 * An earlier attempt may have reached the agent, and this cannot be checked; the route, or the value of what was asked for,
 * forbids another one, so nothing was sent.
 */
export class AgentUncertainError extends Wa2aiError {
  constructor(said: Said = say('agent.uncertain')) {
    super('AGENT_UNCERTAIN', 'uncertain', said);
  }
}

/** The agent answered with something that no retry changes (4xx, not the protocol, too large, its own failure). */
export class AgentProtocolError extends Wa2aiError {
  constructor(said: Said, options?: { cause?: unknown; code?: ErrorCode }) {
    super(options?.code ?? 'AGENT_PROTOCOL', 'dead', said, options);
  }
}

/** A task of the agent ended without a result. */
export class AgentTaskError extends AgentProtocolError {
  /** What the person may read of it, when the route says so; absent: nothing of the agent's text. */
  readonly forPerson: string | undefined;

  constructor(code: ErrorCode, said: Said, forPerson?: string) {
    super(said, { code });
    this.forPerson = forPerson;
  }
}
