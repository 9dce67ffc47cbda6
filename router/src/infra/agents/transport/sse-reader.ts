import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** One event of a stream of server-sent events; `event` absent: the stream did not name it. */
export type SseEvent = Pick<EventSourceMessage, 'event' | 'id' | 'data'>;

/** An event, or a line, is larger than the limit. */
export class SseTooLargeError extends Error {}

/**
 * The events of an answer of type `text/event-stream`, in order, the last one also without its blank line. Ends when the stream ends; a consumer that stops early
 * closes the connection.
 * @param maxChars of one event, and of one line
 * @throws {SseTooLargeError} an event or a line is longer
 * @throws what the connection throws when it breaks or its request is aborted
 */
export async function* readEvents(response: Response, maxChars: number): AsyncGenerator<SseEvent> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const ready: SseEvent[] = [];
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: maxChars,
    onEvent: ({ event, id, data }) => {
      isTooLarge ||= data.length > maxChars;
      ready.push({ data, ...(event !== undefined && { event }), ...(id !== undefined && { id }) });
    },
    onError: ({ type }) => {
      isTooLarge ||= type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parser.feed(decoder.decode(read.value, { stream: true }));
      if (isTooLarge) throw new SseTooLargeError(`an event has more than ${maxChars} characters`);
      yield* ready.splice(0);
    }
    // The last event of many servers has no blank line behind it.
    parser.feed(`${decoder.decode()}\n\n`);
    if (isTooLarge) throw new SseTooLargeError(`an event has more than ${maxChars} characters`);
    yield* ready.splice(0);
  } finally {
    // Closing can only fail on a connection that is closed already.
    await reader.cancel().catch(() => undefined);
  }
}
