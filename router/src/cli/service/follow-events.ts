import type { IncomingMessage } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { CliHost } from '../cli.ts';
import { CliError, EXIT } from '../exit-code.ts';
import type { Api, Query } from './api.ts';

/** The service sends something at least every 15 seconds. */
const SILENCE_LIMIT_MS = 45_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** An event of a stream. */
export interface StreamEvent {
  name: string;
  data: unknown;
}

interface FollowOptions {
  query?: Query;
  /** Ends the stream. */
  signal: AbortSignal;
  /** The wait before another connection. */
  sleep: CliHost['sleep'];
  /** Gets each event after the one before was handled. When it throws, the connection begins again. */
  handle(event: StreamEvent): Promise<void> | void;
  /** Tells the person that the connection broke, and why. */
  onBreak(sentence: string): void;
}

/**
 * Reads a stream of the API over as many connections as it takes, until the signal aborts. Each connection names the last event
 * that was handled, so that the service continues there.
 * @throws {CliError} nothing was handled yet, or the service refuses the caller
 */
export async function followEvents(
  api: Api,
  path: string,
  { query = {}, signal, sleep, handle, onBreak }: FollowOptions,
): Promise<void> {
  let lastId: string | undefined;
  let hasBegun = false;
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const response = await api.stream(path, { query, headers, signal });
      for await (const { id, event = 'message', data } of eventsOf(response)) {
        await handle({ name: event, data: JSON.parse(data) });
        if (signal.aborted) return;
        lastId = id ?? lastId;
        hasBegun = true;
        pauseMs = FIRST_PAUSE_MS;
      }
      if (!signal.aborted) onBreak(`wa2ai at ${api.name} closed the connection. Connecting again.`);
    } catch (error) {
      if (signal.aborted) return;
      if (!hasBegun || !mayPass(error)) throw error;
      onBreak(`${(error as CliError).message} Connecting again.`);
    }
    await sleep(pauseMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** A refusal stays, other than that of too many requests; a service that is away comes back. */
function mayPass(error: unknown): boolean {
  return error instanceof CliError && (error.exitCode !== EXIT.refused || error.status === 429);
}

/** Ends with the connection, also when that breaks or says nothing for long. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<EventSourceMessage> {
  const waiting: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => waiting.push(event) });
  response.setEncoding('utf8');
  const chunks = response[Symbol.asyncIterator]();
  try {
    for (;;) {
      const silence = setTimeout(() => response.destroy(), SILENCE_LIMIT_MS);
      // A connection that broke ends the stream; what came before is read.
      const next = await chunks.next().catch(() => undefined);
      clearTimeout(silence);
      if (!next || next.done) return;
      parser.feed(next.value);
      yield* waiting.splice(0);
    }
  } finally {
    response.destroy();
  }
}
