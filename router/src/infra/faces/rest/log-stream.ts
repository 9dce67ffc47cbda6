import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../core/ports/clock.ts';
import type { LogLine } from '../../../core/ports/container-engine.ts';

/** So that proxies and readers see a connection that works. */
const HEARTBEAT_MS = 15_000;

/**
 * Writes lines as server-sent events, as fast as the reader takes them, until they end: `data: {"stream", "text"}`, then the
 * event `end`.
 * @param gone aborts when the reader has left; ends `lines`
 */
export async function streamLog(
  response: ServerResponse,
  lines: AsyncIterable<LogLine>,
  { clock, gone }: { clock: Pick<Clock, 'sleep'>; gone: AbortController },
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
  const write = async (event: string) => {
    if (!response.write(event)) await once(response, 'drain', { signal: gone.signal });
  };
  try {
    for await (const { stream, text } of lines) await write(`data: ${JSON.stringify({ stream, text })}\n\n`);
    await write('event: end\ndata: {}\n\n');
  } catch {
    // The reader has left, or the engine was lost: a reader without the event `end` connects again.
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
