import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../support/http-api.ts';
import { SseReader } from '../../support/sse-reader.ts';

let api: HttpApi;
const opened: SseReader[] = [];

beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});

afterEach(async () => {
  for (const reader of opened.splice(0)) reader.close();
  await api.close();
});

function add(msg: string, more: Record<string, unknown> = {}): void {
  api.logRing.add(`${JSON.stringify({ level: 'info', time: '2026-01-01T00:00:00.000Z', ...more, msg })}\n`);
}

const admin = { 'x-api-key': ADMIN_KEY };
const messages = async (query: string): Promise<string[]> => {
  const { body } = await api.call('GET', `/api/logs${query}`, undefined, admin);
  return body.data.map(({ msg }: { msg: string }) => msg);
};

async function follow(query = '', headers: Record<string, string> = {}): Promise<SseReader> {
  const reader = await SseReader.open(`${api.url}/api/logs?follow=true${query}`, { ...admin, ...headers });
  opened.push(reader);
  return reader;
}

describe('GET /api/logs', () => {
  it('lists the last lines of this node, oldest first', async () => {
    for (const number of [1, 2, 3]) add(`line ${number}`);
    api.logRing.add('not JSON');
    const { body } = await api.call('GET', '/api/logs?limit=2', undefined, admin);
    expect(body).toMatchObject({
      success: true,
      node: 'n1',
      count: 2,
      data: [{ msg: 'line 2' }, { msg: 'line 3' }],
    });
  });

  it('has lines of a level and above, and of an account', async () => {
    add('one', { level: 'debug' });
    add('two', { level: 'warn', accountId: 'sales' });
    add('three', { level: 'error' });
    add('four', { accountId: 'sales' });
    expect(await messages('?level=warn')).toEqual(['two', 'three']);
    expect(await messages('?accountId=sales')).toEqual(['two', 'four']);
    expect(await messages('?level=warn&accountId=sales')).toEqual(['two']);
  });

  it('is refused without the scope admin, and with a wrong query', async () => {
    const key = await api.addKey({ scopes: ['messages:read', 'accounts:manage'] });
    expect((await api.call('GET', '/api/logs', undefined, { 'x-api-key': key })).status).toBe(403);
    for (const query of ['?level=loud', '?limit=0', '?limit=2001', '?other=1']) {
      expect((await api.call('GET', `/api/logs${query}`, undefined, admin)).status).toBe(400);
    }
  });

  it('goes on with new lines as a stream, and continues after the last id', async () => {
    add('one');
    add('two');
    const reader = await follow('&limit=1');
    expect(await reader.next()).toMatchObject({ event: 'line', data: { msg: 'two' } });
    add('three');
    const { id = '' } = (await reader.next()) ?? {};
    expect(id).toBe('run1-3');
    reader.close();
    add('four');
    add('five', { level: 'warn' });
    const again = await follow('&level=warn', { 'last-event-id': id });
    expect(await again.next()).toMatchObject({ id: 'run1-5', data: { msg: 'five' } });
  });

  it('says that lines are missing, and begins with the oldest line', async () => {
    for (let number = 1; number <= 2_010; number += 1) add(`line ${number}`);
    for (const lastId of ['run1-3', 'run0-2005']) {
      const reader = await follow('', { 'last-event-id': lastId });
      expect((await reader.next())?.event).toBe('lost');
      expect((await reader.next())?.data.msg).toBe('line 11');
    }
  });

  it('has at most 20 streams, ends them when the process stops, and counts those that left no more', async () => {
    const readers: SseReader[] = [];
    for (let count = 0; count < 20; count += 1) readers.push(await follow());
    expect((await api.call('GET', '/api/logs?follow=true', undefined, admin)).status).toBe(429);
    readers[0]?.close();
    await expect.poll(async () => (await follow()).status).toBe(200);
    api.logRing.stop();
    expect(await readers[1]?.next()).toBeUndefined();
  });
});
