import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReceivedMessage } from '../../../../../../router/src/core/ports/message-log.ts';
import { anOutboxRow, type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

function aReceivedMessage(id: string): ReceivedMessage {
  const at = new Date('2026-01-02T03:04:05.000Z');
  return {
    id,
    accountId: 'default',
    chatId: '7',
    channelId: '5493777239922',
    waMessageId: `WA${id}`,
    from: '5493777239922@s.whatsapp.net',
    kind: 'text',
    text: 'hola',
    state: 'answered',
    attempts: 1,
    sentAt: at,
    receivedAt: at,
    finishedAt: at,
    replies: [anOutboxRow({ state: 'read', readAt: at })],
  };
}

describe('GET /api/messages', () => {
  it('shows what came in, what became of it and each reply', async () => {
    api.messageLog.rows = [aReceivedMessage('2')];
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
    expect(body).not.toHaveProperty('nextBefore');
  });

  it('hands filters on in their stored form', async () => {
    const query = 'accountId=sales&channelId=%2B54%209%203777%20239922&state=dead&before=90&limit=7';
    await api.call('GET', `/api/messages?${query}`);
    expect(api.messageLog.queries).toEqual([
      { accountId: 'sales', channelId: '5493777239922', state: 'dead', before: '90', limit: 7 },
    ]);
  });

  it('gives 50 by default and says how to go on', async () => {
    api.messageLog.rows = Array.from({ length: 60 }, (_, i) => aReceivedMessage(String(100 - i)));
    const first = await api.call('GET', '/api/messages');
    expect(first.body.count).toBe(50);
    expect(first.body.nextBefore).toBe('51');
  });
});

describe('GET /api/messages/:id', () => {
  it('shows one message', async () => {
    api.messageLog.rows = [aReceivedMessage('2')];
    expect((await api.call('GET', '/api/messages/2')).body).toMatchObject({
      success: true,
      data: { id: '2' },
    });
  });

  it.each(['3', 'x', '0', '-1', '99999999999999999999', '1e3'])('answers 404 for %s', async (id) => {
    const answer = await api.call('GET', `/api/messages/${id}`);
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe('NOT_FOUND');
  });
});

describe('POST /api/messages', () => {
  const message = { to: '+54 9 3777 239922', text: 'hello' };

  it('takes a message on its way', async () => {
    const { status, body } = await api.call('POST', '/api/messages', message);
    expect(status).toBe(202);
    expect(body).toMatchObject({
      success: true,
      data: { to: '5493777239922@s.whatsapp.net', state: 'queued', text: 'hello', waMessageId: '3EB00' },
    });
    expect(api.sent).toEqual([
      { accountId: 'default', to: '5493777239922@s.whatsapp.net', waMessageId: '3EB00', text: 'hello' },
    ]);
  });

  it('sends once for one Idempotency-Key and gives the same row', async () => {
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

  it('writes neither text nor number into the log', async () => {
    await api.call('POST', '/api/messages', message);
    expect(api.log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(api.log.lines)).not.toMatch(/hello|5493777239922/);
  });
});

it('GET /api/dead-letters shows why a message got no answer', async () => {
  api.messageLog.deadRows = [
    {
      id: '4',
      accountId: 'default',
      chatId: '7',
      messageId: '2',
      reason: 'AGENT_TIMEOUT',
      error: 'The agent took too long.',
      attempts: 3,
      createdAt: new Date('2026-01-02T03:04:05.000Z'),
    },
  ];
  const { status, body } = await api.call('GET', '/api/dead-letters?limit=1&before=9');
  expect(status).toBe(200);
  expect(body).toMatchObject({ success: true, count: 1, nextBefore: '4' });
  expect(body.data[0]).toMatchObject({ reason: 'AGENT_TIMEOUT', createdAt: '2026-01-02T03:04:05.000Z' });
  expect(api.messageLog.queries).toEqual([{ limit: 1, before: '9' }]);
});
