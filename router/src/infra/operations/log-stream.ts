import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/ports/clock.ts';
import type { LogLine } from '../../core/ports/container-engine.ts';

/** So that proxies and readers see a connection that works. */
const HEARTBEAT_MS = 15_000;

interface StreamContext {
  clock: Pick<Clock, 'sleep'>;
  /** Aborts when the reader has left. */
  gone: AbortController;
}

/**
 * Writes lines as server-sent events, as fast as the reader takes them, until they end: `data: {"stream", "text"}`, then the
 * event `end`.
 * @param context `gone` ends `lines`
 */
export function streamLog(
  response: ServerResponse,
  lines: AsyncIterable<LogLine>,
  context: StreamContext,
): Promise<void> {
  return streamFrames(response, framesOf(lines), context);
}

async function* framesOf(lines: AsyncIterable<LogLine>): AsyncGenerator<string> {
  for await (const { stream, text } of lines) yield `data: ${JSON.stringify({ stream, text })}\n\n`;
  yield 'event: end\ndata: {}\n\n';
}

/** Writes server-sent events, as fast as the reader takes them, until they end. @param context `gone` ends `frames` */
export async function streamFrames(
  response: ServerResponse,
  frames: AsyncIterable<string>,
  { clock, gone }: StreamContext,
): Promise<void> {
  response.on('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // For proxies that collect responses.
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  const beating = keepBeating(response, clock, gone.signal);
  try {
    for await (const frame of frames) {
      if (!response.write(frame)) await once(response, 'drain', { signal: gone.signal });
    }
  } catch {
    // The reader has left, or the source was lost: a reader without the event `end` connects again.
  } finally {
    gone.abort();
    response.end();
    await beating;
  }
}

async function keepBeating(
  response: ServerResponse,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(HEARTBEAT_MS, signal).catch(() => undefined);
    if (!signal.aborted && !response.writableNeedDrain) response.write(': heartbeat\n\n');
  }
}
