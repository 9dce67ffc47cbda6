import { describe, expect, it } from 'vitest';
import { chatHash } from '../../../router/src/core/chat-id.ts';
import { aReceivedMessage, aSentMessage } from '../../doubles/fake-message-log.ts';
import { httpApi } from '../../support/http-api.ts';
import { MP3, PNG } from '../../support/sounds.ts';

const api = httpApi();

const received = (id: string) =>
  aReceivedMessage({
    id,
    replies: [aSentMessage({ state: 'read', readAt: new Date('2026-01-02T03:04:05.000Z') })],
  });

describe('GET /api/messages', () => {
  it('shows received messages with their outcome and each reply', async () => {
    api.messageLog.rows = [received('2')];
    const { status, body } = await api.call('GET', '/api/messages');
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, count: 1 });
    expect(body.data[0]).toMatchObject({
      id: '2',
      text: 'hola',
      state: 'answered',
      receivedAt: '2026-01-02T03:04:05.000Z',
      replies: [{ waMessageId: '3EB0AA', state: 'read', readAt: '2026-01-02T03:04:05.000Z' }],
    });
    expect(body).not.toHaveProperty('next');
  });

  it('has traces only when it is asked for them', async () => {
    const trace = [{ rule: 1 }];
    api.messageLog.rows = [aReceivedMessage({ id: '2', trace })];
    expect((await api.call('GET', '/api/messages')).body.data[0]).not.toHaveProperty('trace');
    expect((await api.call('GET', '/api/messages?trace=false')).body.data[0]).not.toHaveProperty('trace');
    expect((await api.call('GET', '/api/messages?trace=true')).body.data[0]).toMatchObject({ trace });
    expect((await api.call('GET', '/api/messages/2')).body.data).toMatchObject({ trace });
  });

  it('passes filters on in their stored form', async () => {
    const query =
      'accountId=sales&channelId=%2B54%209%203777%20239922&state=dead&cursor=90&limit=7&from=%2B54-9-3777-239922&text=x&routeId=r&since=2026-01-01T00:00:00Z&until=2026-01-01T02:00:00%2B02:00';
    await api.call('GET', `/api/messages?${query}`);
    expect(api.messageLog.queries).toEqual([
      {
        accountId: 'sales',
        channelId: '5493777239922',
        from: '5493777239922',
        routeId: 'r',
        text: 'x',
        state: 'dead',
        since: new Date('2026-01-01T00:00:00Z'),
        until: new Date('2026-01-01T00:00:00Z'),
        before: '90',
        // One more than requested, to detect a next page.
        limit: 8,
      },
    ]);
  });

  it('returns 50 by default with a cursor', async () => {
    api.messageLog.rows = Array.from({ length: 60 }, (_, i) => received(String(100 - i)));
    const first = await api.call('GET', '/api/messages');
    expect(first.body.count).toBe(50);
    expect(first.body.next).toBe('51');
    const second = await api.call('GET', `/api/messages?cursor=${first.body.next}`);
    expect(second.body).toMatchObject({ count: 10, data: [{ id: '50' }, ...Array(9).fill({})] });
    expect(second.body).not.toHaveProperty('next');
  });

  it('shows messages sent, or both by id', async () => {
    api.messageLog.rows = [received('4'), received('2')];
    api.messageLog.sentRows = [aSentMessage({ id: '5' }), aSentMessage({ id: '3' })];
    const ids = async (query: string) =>
      (await api.call('GET', `/api/messages?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids('direction=outgoing')).toEqual(['5', '3']);
    expect(await ids('direction=all')).toEqual(['5', '4', '3', '2']);
    expect(await ids('direction=all&limit=3')).toEqual(['5', '4', '3']);
    expect(await ids('direction=all&limit=3&cursor=3')).toEqual(['2']);
    expect(await ids('direction=incoming')).toEqual(['4', '2']);
    // Sender, route and the state `received` exist only for received messages.
    for (const filter of ['from=5493777239922', 'routeId=r', 'state=received']) {
      expect(await ids(`direction=all&${filter}`)).toEqual(['4', '2']);
    }
  });

  it('searches the text of all chats', async () => {
    api.messageLog.rows = [received('2')];
    const { body } = await api.call('GET', '/api/messages?text=hola');
    expect(body.data).toMatchObject([{ id: '2' }]);
    expect(api.messageLog.queries.at(-1)).toMatchObject({ text: 'hola', before: '3' });
  });
});

describe('GET /api/messages/:id', () => {
  it('shows one message', async () => {
    api.messageLog.rows = [received('2')];
    expect((await api.call('GET', '/api/messages/2')).body).toMatchObject({
      success: true,
      data: { id: '2' },
    });
  });

  it('shows what was exchanged with agents for a message received', async () => {
    api.messageLog.rows = [received('2')];
    api.messageLog.sentRows = [aSentMessage({ id: '3' })];
    const request = {
      method: 'POST',
      url: 'http://agent/run',
      headers: { authorization: '***' },
      body: '{}',
    };
    const exchange = { attempt: 1, at: '2026-01-02T03:04:05.000Z', ms: 7, request };
    api.messageLog.exchangesOf.set('2', [exchange]);
    const found = await api.call('GET', '/api/messages/2/exchanges');
    expect(found).toMatchObject({ status: 200, body: { success: true, data: [exchange] } });
    for (const id of ['3', '99', 'x']) {
      expect((await api.call('GET', `/api/messages/${id}/exchanges`)).status).toBe(404);
    }
  });

  it('shows the delivery state of a message sent, and why it was not sent', async () => {
    api.messageLog.sentRows = [
      aSentMessage({ id: '9', state: 'dead', reason: 'send-refused', error: 'It is not on WhatsApp.' }),
    ];
    expect((await api.call('GET', '/api/messages/9')).body.data).toMatchObject({
      direction: 'outgoing',
      state: 'dead',
      reason: 'send-refused',
      error: 'It is not on WhatsApp.',
    });
  });

  it.each(['3', 'x', '0', '-1', '99999999999999999999', '1e3'])('answers 404 for %s', async (id) => {
    const answer = await api.call('GET', `/api/messages/${id}`);
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe('NOT_FOUND');
  });
});

describe('POST /api/messages', () => {
  const message = { channelId: '+54 9 3777 239922', text: 'hello' };

  it('accepts a message for delivery', async () => {
    const { status, body } = await api.call('POST', '/api/messages', message);
    expect(status).toBe(202);
    expect(body).toMatchObject({
      success: true,
      data: {
        direction: 'outgoing',
        channelId: '5493777239922',
        to: '5493777239922@s.whatsapp.net',
        state: 'queued',
        text: 'hello',
        waMessageId: '3EB00',
      },
    });
    expect(api.sent).toEqual([
      { accountId: 'default', to: '5493777239922@s.whatsapp.net', waMessageId: '3EB00', text: 'hello' },
    ]);
  });

  it('sends once per Idempotency-Key and returns the same row', async () => {
    const headers = { 'Idempotency-Key': 'order-17' };
    const first = await api.call('POST', '/api/messages', message, headers);
    const again = await api.call('POST', '/api/messages', message, headers);
    expect(again.status).toBe(202);
    expect(again.body).toEqual(first.body);
    expect(api.sent).toHaveLength(1);
  });

  it('refuses an Idempotency-Key that was used for something else', async () => {
    const headers = { 'Idempotency-Key': 'order-17' };
    await api.call('POST', '/api/messages', message, headers);
    const answer = await api.call('POST', '/api/messages', { ...message, text: 'other' }, headers);
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe('IDEMPOTENCY_CONFLICT');
    expect(api.sent).toHaveLength(1);
  });

  it('logs the stored id and the hash of the chat, and neither text nor number', async () => {
    const { body } = await api.call('POST', '/api/messages', message);
    const chat = chatHash(body.data.chatId);
    expect(api.log.lines).toMatchObject([
      { fields: { messageId: body.data.id, accountId: 'default', chat } },
    ]);
    expect(JSON.stringify(api.log.lines)).not.toMatch(/hello|5493777239922/);
  });
});

describe('POST /api/messages with a file', () => {
  const to = '+54 9 3777 239922';
  const url = 'https://example.com/menu.png?key=secret';

  async function storedBytes(id: string): Promise<Buffer> {
    return Buffer.from(api.state.outbox.get(id)?.file?.bytes ?? []);
  }

  function form(fields: Record<string, string | Blob>, fileName = 'menu.png'): FormData {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'string') data.append(name, value);
      else data.append(name, value, fileName);
    }
    return data;
  }

  it('takes an uploaded file with its caption; its type follows from the bytes', async () => {
    const image = new Blob([Uint8Array.from(PNG)], { type: 'text/html' });
    const { status, body } = await api.call(
      'POST',
      '/api/messages',
      form({ channelId: to, text: 'menu', image }),
    );
    expect(status).toBe(202);
    expect(body.data).toMatchObject({
      text: 'menu',
      media: { kind: 'image', mimeType: 'image/png', sizeBytes: PNG.length },
    });
    expect(await storedBytes(body.data.id)).toEqual(PNG);
    expect(api.sent).toMatchObject([{ text: 'menu', media: { kind: 'image' } }]);
  });

  it('takes an address, and neither shows, logs nor audits it', async () => {
    api.webFiles.files.set(url, { bytes: PNG });
    const { status, body } = await api.call('POST', '/api/messages', {
      to,
      document: { url, fileName: 'm.png' },
    });
    expect(status).toBe(202);
    expect(body.data.media).toEqual({
      kind: 'document',
      mimeType: 'image/png',
      fileName: 'm.png',
      sizeBytes: PNG.length,
    });
    expect(await storedBytes(body.data.id)).toEqual(PNG);
    const entries = api.auditLog.stored.map(({ object, action }) => ({ object, action }));
    expect(entries).toHaveLength(1);
    expect(JSON.stringify([body, api.log.lines, entries])).not.toMatch(/secret|example\.com/);
  });

  it('loads the file of an Idempotency-Key once', async () => {
    api.webFiles.files.set(url, { bytes: PNG });
    const headers = { 'Idempotency-Key': 'order-17' };
    const first = await api.call('POST', '/api/messages', { channelId: to, image: { url } }, headers);
    api.webFiles.files.clear();
    expect(
      (await api.call('POST', '/api/messages', { channelId: to, image: { url } }, headers)).body,
    ).toEqual(first.body);
    const other = await api.call(
      'POST',
      '/api/messages',
      { channelId: to, image: { url: `${url}2` } },
      headers,
    );
    expect(other.body.code).toBe('IDEMPOTENCY_CONFLICT');
    expect(api.webFiles.loaded).toHaveLength(1);
    expect(api.sent).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['cannot be loaded', { image: { url: 'https://example.com/none' } }, 'example.com answered status 404'],
    ['is of another kind', { video: { url } }, 'is no MP4 or 3GP video'],
    ['would need ffmpeg, which is not installed', { voice: { url: `${url}.mp3` } }, 'Install ffmpeg'],
  ])('stores nothing when the file %s', async (_name, fields, sentence) => {
    api.webFiles.files.set(url, { bytes: PNG });
    api.webFiles.files.set(`${url}.mp3`, { bytes: MP3 });
    const { status, body } = await api.call('POST', '/api/messages', { channelId: to, ...fields });
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'FILE_REFUSED', error: expect.stringContaining(sentence) });
    expect(api.state.outbox.size).toBe(0);
  });

  it('refuses a number without an account, and stores nothing', async () => {
    api.accounts.numbers.set('5493777239922', false);
    const { status, body } = await api.call('POST', '/api/messages', {
      channelId: '5493777239922',
      text: 'hi',
    });
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'NOT_ON_WHATSAPP', error: expect.stringContaining('country code') });
    expect(api.state.outbox.size).toBe(0);
  });

  it('accepts a message while WhatsApp does not say whether the number has an account', async () => {
    expect((await api.call('POST', '/api/messages', { channelId: '5493777239922', text: 'hi' })).status).toBe(
      202,
    );
  });

  it('refuses a form that is none, one that is too large, and one with a wrong field', async () => {
    const type = { 'content-type': 'multipart/form-data; boundary=x' };
    expect((await api.call('POST', '/api/messages', 'no form', type)).status).toBe(400);
    const large = form({ to, document: new Blob([new Uint8Array(12_000_000)]) });
    expect((await api.call('POST', '/api/messages', large)).status).toBe(413);
    const text = await api.call('POST', '/api/messages', form({ channelId: to, image: 'no file' }));
    expect(text.body).toMatchObject({ code: 'INVALID_BODY', details: [{ field: 'image' }] });
  });

  it('takes forms nowhere else', async () => {
    const { status } = await api.call('POST', '/api/routes', form({ channelId: '*' }));
    expect(status).toBe(415);
  });
});
