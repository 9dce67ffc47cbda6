/** Records what is exchanged with agents. */
export interface ExchangeRecorder {
  /**
   * Runs one attempt; then `onExchange` gets each of its requests with the answer, in order and without secrets.
   * @throws what `work` throws, after `onExchange`
   */
  during<Result>(onExchange: (exchange: AgentExchange) => void, work: () => Promise<Result>): Promise<Result>;
}

/** A header, a key or a token in an exchange is replaced by this. */
export const MASKED = '***';

/**
 * One request to an agent and what came back, as operators see it: without secrets, each body cut to
 * `MAX_SHOWN_CHARS` characters.
 */
export interface AgentExchange {
  /** The attempt it belongs to, from 1 over all turns of the message. Absent: before the first attempt was counted. */
  attempt?: number;
  /** When the request began, ISO 8601. */
  at: string;
  /** From the request to the end of the answer. Absent: the answer had not ended when the attempt did. */
  ms?: number;
  request: { method: string; url: string } & ExchangedContent;
  /** Absent: no answer began. */
  response?: { status: number } & ExchangedContent;
  /** What went wrong with the connection. */
  fault?: string;
}

/** Headers and body of one side. */
export interface ExchangedContent {
  /** Names in lower case; values that may be secret are `***`. */
  headers: Record<string, string>;
  /** Absent: it has none, or it was not read. */
  body?: string;
  /** Size of the body. Absent: not known. */
  bytes?: number;
}

/** Longest body that is shown of one side; a longer one ends with a mark. */
export const MAX_SHOWN_CHARS = 8_192;

/** Exchanges of one message that are kept: the first ones and the last. */
const MAX_EXCHANGES = 12;
const FIRST_KEPT = 4;

/** Adds an exchange to those of a message; of more than `MAX_EXCHANGES`, those in the middle are dropped. */
export function addExchange(exchanges: AgentExchange[], exchange: AgentExchange): void {
  if (exchanges.length >= MAX_EXCHANGES) exchanges.splice(FIRST_KEPT, 1);
  exchanges.push(exchange);
}
