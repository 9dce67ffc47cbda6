import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../router/src/core/errors.ts';
import { aReply } from '../../contracts/adapters.ts';
import { aDeadLetter } from '../../doubles/fake-message-log.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../doubles/memory-outbox.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

/** Creates a dead letter of a message in a new chat; returns its id. */
async function deadLetter(phone: string, reason: ErrorCode = 'AGENT_TIMEOUT'): Promise<string> {
  const inbox = new MemoryInbox(api.state);
  const { messageId, worker } = await inbox.add(
    {
      accountId: 'default',
      waMessageId: `IN${phone}`,
      chat: { kind: 'person', phone },
      sender: { phone },
      kind: 'text',
      text: 'hola',
      sentAtMs: 0,
      stanzaOrder: 1n,
    },
    'n1',
  );
  await inbox.finishTurn(messageId, { state: 'dead', reason, replies: [] });
  if (worker) await inbox.nextTurn(worker);
  return String(api.state.deadLetters.at(-1)?.id);
}

describe('GET /api/dead-letters', () => {
  it('shows the reason, the person, the text and the cursor of the next page', async () => {
    api.messageLog.deadRows = [aDeadLetter({ id: '4' }), aDeadLetter({ id: '3' })];
    const { status, body } = await api.call('GET', '/api/dead-letters?limit=1&cursor=9&state=open');
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, count: 1, next: '4' });
    expect(body.data[0]).toMatchObject({
      reason: 'AGENT_TIMEOUT',
      from: '5493777239922@s.whatsapp.net',
      channelId: '5493777239922',
      text: 'hola',
      createdAt: '2026-01-02T03:04:05.000Z',
    });
    expect(api.messageLog.queries).toEqual([{ limit: 2, before: '9', state: 'open' }]);
  });

  it('shows one by its id, and its trace in a list that asks for it', async () => {
    api.messageLog.deadRows = [aDeadLetter({ id: '4', trace: [{ rule: 1 }] })];
    expect((await api.call('GET', '/api/dead-letters')).body.data[0]).not.toHaveProperty('trace');
    const listed = await api.call('GET', '/api/dead-letters?trace=true');
    expect(listed.body.data[0]).toMatchObject({ trace: [{ rule: 1 }] });
    const { body } = await api.call('GET', '/api/dead-letters/4');
    expect(body.data).toMatchObject({ id: '4', trace: [{ rule: 1 }] });
    expect((await api.call('GET', '/api/dead-letters/5')).status).toBe(404);
    expect((await api.call('GET', '/api/dead-letters/x')).status).toBe(404);
  });
});

describe('POST /api/dead-letters/:id/close', () => {
  it('closes an open one idempotently, and excludes it from a replay by filter', async () => {
    const id = await deadLetter('5493777000001');
    api.messageLog.deadRows = [aDeadLetter({ id, state: 'closed', messageId: '4711' })];
    for (let n = 0; n < 2; n++) {
      const { status, body } = await api.call('POST', `/api/dead-letters/${id}/close`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ message: 'Closed.', data: { id, state: 'closed' } });
    }
    expect(api.log.lines.at(-1)).toMatchObject({
      message: 'dead letter closed by an admin',
      fields: { deadLetterId: id, messageId: '4711', chat: expect.stringMatching(/^[0-9a-f]{8}$/) },
    });
    expect((await api.call('POST', '/api/dead-letters/replay')).body).toMatchObject({ replayed: 0 });
  });

  it('refuses one that was replayed, and one that does not exist', async () => {
    const id = await deadLetter('5493777000001');
    await api.call('POST', `/api/dead-letters/${id}/replay`);
    const replayed = await api.call('POST', `/api/dead-letters/${id}/close`);
    expect(replayed.status).toBe(409);
    expect(replayed.body.code).toBe('ALREADY_REPLAYED');
    expect((await api.call('POST', '/api/dead-letters/7777/close')).status).toBe(404);
  });
});

describe('POST /api/dead-letters/close', () => {
  it('closes the open ones of a filter, but none that failed after a person looked', async () => {
    for (let n = 1; n <= 2; n++) await deadLetter(`549377700000${n}`);
    const other = await deadLetter('5493777000009', 'AGENT_UNAVAILABLE');
    const close = async (body: object) =>
      (await api.call('POST', '/api/dead-letters/close', { reason: 'AGENT_TIMEOUT', ...body })).body;
    expect(await close({ until: '2020-01-01T00:00:00.000Z' })).toEqual({ success: true, closed: 0 });
    const seenAt = api.state.deadLetters[0]?.failedAt.toISOString();
    expect(await close({ until: seenAt })).toEqual({ success: true, closed: 2 });
    expect(await close({})).toMatchObject({ closed: 0 });
    expect(api.state.deadLetters.filter(({ closedAt }) => !closedAt).map(({ id }) => String(id))).toEqual([
      other,
    ]);
  });

  it('refuses a key for some chats that names none of them', async () => {
    await deadLetter('5493777000001');
    const key = await api.addKey({ scopes: ['messages:send'], chats: ['5493777000001'] });
    const close = (body?: object) => api.call('POST', '/api/dead-letters/close', body, { 'x-api-key': key });
    expect((await close()).body.code).toBe('CHAT_NOT_ALLOWED');
    expect((await close({ channelId: '5493777000002' })).body.code).toBe('CHAT_NOT_ALLOWED');
    expect((await close({ channelId: '5493777000001' })).body.closed).toBe(1);
  });
});

describe('POST /api/dead-letters/:id/replay', () => {
  it('replays the message once and starts its turn', async () => {
    const id = await deadLetter('5493777000001');
    const { status, body } = await api.call('POST', `/api/dead-letters/${id}/replay`);
    expect(status).toBe(202);
    expect(body).toEqual({ success: true, message: 'Replayed.' });
    expect(api.served).toHaveLength(1);
    const again = await api.call('POST', `/api/dead-letters/${id}/replay`);
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ success: false, code: 'ALREADY_REPLAYED' });
    expect(api.served).toHaveLength(1);
  });

  it.each(['7777', '0', 'x', '99999999999999999999'])('answers 404 for %s', async (id) => {
    const { status, body } = await api.call('POST', `/api/dead-letters/${id}/replay`);
    expect(status).toBe(404);
    expect(body.code).toBe('NOT_FOUND');
  });
});

describe('POST /api/dead-letters/replay', () => {
  it('replays all that match a filter, and reports how many and whether more match', async () => {
    for (let n = 1; n <= 3; n++) await deadLetter(`549377700000${n}`);
    await deadLetter('5493777000009', 'AGENT_UNAVAILABLE');
    const filter = { reason: 'AGENT_TIMEOUT', limit: 2 };
    const first = await api.call('POST', '/api/dead-letters/replay', filter);
    expect(first.status).toBe(202);
    expect(first.body).toEqual({ success: true, replayed: 2, hasMore: true, next: expect.any(String) });
    const second = await api.call('POST', '/api/dead-letters/replay', filter);
    expect(second.body).toEqual({ success: true, replayed: 1, hasMore: false });
    const chat = await api.call('POST', '/api/dead-letters/replay', { channelId: '+54 9 3777 00-0009' });
    expect(chat.body).toMatchObject({ replayed: 1 });
    expect((await api.call('POST', '/api/dead-letters/replay')).body).toMatchObject({ replayed: 0 });
    expect(api.served).toHaveLength(4);
  });

  it('reaches each one once by next, also when those before fail again meanwhile', async () => {
    const ids = [];
    for (let n = 1; n <= 3; n++) ids.push(await deadLetter(`549377700000${n}`));
    const first = await api.call('POST', '/api/dead-letters/replay', { limit: 2 });
    const inbox = new MemoryInbox(api.state);
    for (const { messageId = '' } of api.state.deadLetters.slice(0, 2)) {
      await inbox.finishTurn(messageId, { state: 'dead', reason: 'AGENT_TIMEOUT', replies: [] });
    }
    expect(first.body.next).toBe(ids[1]);
    const second = await api.call('POST', '/api/dead-letters/replay', { limit: 2, cursor: first.body.next });
    expect(second.body).toEqual({ success: true, replayed: 1, hasMore: false });
  });

  it('delivers replies, and counts each letter once when two calls replay them', async () => {
    const outbox = new MemoryOutbox(api.state);
    const reply = aReply('default', '5493777000001@s.whatsapp.net');
    await outbox.markDead((await outbox.addDirect(reply)).row.id, { sentence: 'It was refused.' });
    await deadLetter('5493777000002');
    const replay = () => api.call('POST', '/api/dead-letters/replay');
    const [one, other] = await Promise.all([replay(), replay()]);
    expect(one.body.replayed + other.body.replayed).toBe(2);
    expect(api.sent).toEqual([reply]);
    expect(api.served).toHaveLength(1);
  });

  it.each([
    [{ limit: 0 }, 'limit must be at least 1.'],
    [{ limit: 1001 }, 'limit must be at most 1000.'],
    [{ before: 'x' }, 'before must be the id of a row.'],
    [{ state: 'open' }, 'state is not a known field.'],
    [
      { channelId: '*' },
      'channelId must be one chat: @<user name>, a phone number with its country code, a JID or a group id.',
    ],
  ])('refuses %j with its one sentence', async (body, sentence) => {
    const answer = await api.call('POST', '/api/dead-letters/replay', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe(sentence);
  });
});

describe('GET /api/dead-letters/groups', () => {
  const at = new Date('2026-01-02T03:04:05.000Z');
  const group = { reason: 'AGENT_TIMEOUT', count: 2, newestAt: at, oldestAt: at, error: 'It took too long.' };

  it('counts open dead letters by reason', async () => {
    api.messageLog.groups = [group];
    const { body } = await api.call('GET', '/api/dead-letters/groups');
    expect(body).toMatchObject({ count: 1, data: [{ reason: 'AGENT_TIMEOUT', count: 2 }] });
    await api.call('GET', '/api/dead-letters/groups?state=closed&accountId=sales');
    expect(api.messageLog.groupQueries).toMatchObject([
      { state: 'open' },
      { state: 'closed', accountId: 'sales' },
    ]);
  });

  it('refuses an unknown state', async () => {
    expect((await api.call('GET', '/api/dead-letters/groups?state=all')).status).toBe(400);
  });
});
