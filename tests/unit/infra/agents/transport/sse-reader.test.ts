import { describe, expect, it } from 'vitest';
import {
  readEvents,
  SseTooLargeError,
} from '../../../../../router/src/infra/agents/transport/bounded-fetch.ts';

function responseOf(chunks: Array<string | Uint8Array>, onCancel?: () => void): Response {
  const encoder = new TextEncoder();
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = left.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
    },
    cancel: onCancel,
  });
  return new Response(body);
}

async function eventsOf(chunks: Array<string | Uint8Array>, maxChars = 1_000) {
  const events = [];
  for await (const event of readEvents(responseOf(chunks), maxChars)) events.push(event);
  return events;
}

describe('readEvents', () => {
  it('reads names, ids, several lines of data, CRLF and comments', async () => {
    const text = ': hello\r\nevent: task.update\r\nid: 7\r\ndata: a\r\ndata: b\r\n\r\ndata: c\n\n';
    expect(await eventsOf([text])).toEqual([{ event: 'task.update', id: '7', data: 'a\nb' }, { data: 'c' }]);
  });

  it('joins what the network splits, characters too', async () => {
    const bytes = new TextEncoder().encode('data: ¿qué?\n\n');
    expect(await eventsOf([bytes.subarray(0, 7), bytes.subarray(7, 12), bytes.subarray(12)])).toEqual([
      { data: '¿qué?' },
    ]);
  });

  it('reads the last event without the blank line that many servers leave out', async () => {
    expect(await eventsOf(['data: a\n\ndata: b'])).toEqual([{ data: 'a' }, { data: 'b' }]);
    expect(await eventsOf(['\ufeffdata: a\r\n'])).toEqual([{ data: 'a' }]);
  });

  it.each([
    ['a line without an end', Array.from({ length: 100 }, () => 'x'.repeat(50))],
    ['an event without an end', Array.from({ length: 100 }, () => `data: ${'x'.repeat(50)}\n`)],
    ['one large event', [`data: ${'x'.repeat(2_000)}\n\n`]],
  ])('stops at %s that is larger than the limit', async (_name, chunks) => {
    await expect(eventsOf(chunks)).rejects.toThrow(SseTooLargeError);
  });

  it('closes the connection when its consumer stops', async () => {
    let isClosed = false;
    const response = responseOf(['data: a\n\n', 'data: b\n\n', 'data: c\n\n'], () => {
      isClosed = true;
    });
    for await (const { data } of readEvents(response, 100)) if (data === 'a') break;
    expect(isClosed).toBe(true);
  });
});
