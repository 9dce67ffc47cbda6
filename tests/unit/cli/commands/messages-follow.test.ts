import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../../router/src/cli/run-cli.ts';
import { hostOf } from '../../../support/cli.ts';

/** A service with messages and live events, which a test breaks. */
class Service {
  readonly messages: Array<Record<string, unknown>> = [];
  readonly streams: ServerResponse[] = [];
  /** Statuses with which the next lists of messages are refused. */
  refusals: number[] = [];
  /** Status with which the next streams are refused. */
  streamStatus = 200;
  url = '';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      if (pathname === '/api/events') this.#stream(response);
      else this.#list(searchParams, response);
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Stores a message; `isReported: false`: no live event says so. */
  add(text: string, { isReported = true, channelId = '5493777239922' } = {}): void {
    const id = String(this.messages.length + 1);
    const receivedAt = new Date(Date.UTC(2026, 0, 1) + this.messages.length * 1_000).toISOString();
    this.messages.push({
      id,
      direction: 'incoming',
      kind: 'text',
      channelId,
      state: 'received',
      text,
      receivedAt,
    });
    if (isReported) this.send('message', { id });
  }

  send(name: string, data: Record<string, unknown> = {}): void {
    const at = new Date(Date.UTC(2026, 0, 1)).toISOString();
    this.streams.at(-1)?.write(`event: ${name}\ndata: ${JSON.stringify({ type: name, at, ...data })}\n\n`);
  }

  #stream(response: ServerResponse): void {
    if (this.streamStatus !== 200) {
      response.writeHead(this.streamStatus).end('{"error":"No."}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.streams.push(response);
    this.send('ready');
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) {
      response.writeHead(refusal).end('{"error":"Not now."}');
      return;
    }
    const limit = Number(query.get('limit'));
    const before = Number(query.get('cursor') ?? Number.POSITIVE_INFINITY);
    const channelId = query.get('channelId');
    const since = query.get('since') ?? '';
    const found = this.messages
      .filter((message) => Number(message.id) < before && String(message.receivedAt) >= since)
      .filter((message) => channelId === null || message.channelId === channelId)
      .reverse();
    const data = found.slice(0, limit);
    const next = found.length > limit ? data.at(-1)?.id : undefined;
    response.end(JSON.stringify({ success: true, data, next }));
  }
}

let service: Service;
let ended: AbortController;
let running: Promise<number>;

beforeEach(async () => {
  service = new Service();
  await service.start();
  ended = new AbortController();
});

afterEach(async () => {
  ended.abort();
  await running;
  service.stop();
});

function follow(...args: string[]) {
  const { host, written } = hostOf({ signal: ended.signal });
  running = runCli(['messages', '--follow', '--json', '--url', service.url, ...args], host);
  const texts = () =>
    written.output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).text);
  return { texts, written };
}

describe('wa2ai messages --follow', () => {
  it('begins with the last messages, and ends with 0', async () => {
    for (const text of ['one', 'two', 'three']) service.add(text);
    const { texts } = follow('--limit', '2');
    await expect.poll(texts).toEqual(['two', 'three']);
    service.add('four');
    await expect.poll(texts).toEqual(['two', 'three', 'four']);
    ended.abort();
    expect(await running).toBe(0);
  });

  it('shows the messages of one chat', async () => {
    const { texts } = follow('--chat', '5493777239922');
    await expect.poll(() => service.streams.length).toBe(1);
    service.add('mine');
    service.add('not mine', { channelId: '34600000001' });
    service.add('mine too');
    await expect.poll(texts).toEqual(['mine', 'mine too']);
  });

  it.each([
    ['a connection that broke', () => service.streams.at(-1)?.destroy()],
    ['the event reset', () => service.send('reset')],
  ])('shows what it missed after %s, each message once', async (_what, lose) => {
    service.add('one');
    const { texts } = follow('--limit', '1');
    await expect.poll(texts).toEqual(['one']);
    service.add('two');
    await expect.poll(texts).toEqual(['one', 'two']);
    // More than a page.
    for (let number = 3; number <= 450; number += 1) service.add(`${number}`, { isReported: false });
    lose();
    await expect.poll(() => texts().length).toBe(450);
    service.add('last');
    await expect.poll(() => texts().at(-1)).toBe('last');
    expect(new Set(texts()).size).toBe(451);
    expect(texts().slice(2, 5)).toEqual(['3', '4', '5']);
  });

  it('connects again when a message cannot be read, and shows it then', async () => {
    const { texts, written } = follow();
    await expect.poll(() => service.streams.length).toBe(1);
    service.add('one');
    await expect.poll(texts).toEqual(['one']);
    service.refusals = [503];
    service.add('two');
    await expect.poll(texts).toEqual(['one', 'two']);
    expect(written.errors).toBe('wa2ai: Not now. Connecting again.\n');
    service.add('three');
    await expect.poll(texts).toEqual(['one', 'two', 'three']);
  });

  it('ends with 4 when the service refuses it later, but not for too many requests', async () => {
    const { written } = follow();
    await expect.poll(() => service.streams.length).toBe(1);
    service.streamStatus = 429;
    service.streams.at(-1)?.destroy();
    await expect.poll(() => written.errors).toContain('No. Connecting again.');
    service.streamStatus = 403;
    expect(await running).toBe(4);
  });

  it('ends at once when its first list is refused', async () => {
    service.refusals = [400];
    follow();
    expect(await running).toBe(1);
  });
});
