import { describe, expect, it } from 'vitest';
import type { TurnResult } from '../../../router/src/core/turns/turn.ts';
import { aMessage, aPerson } from '../../contracts/adapters.ts';
import { aReceivedMessage, aSentMessage } from '../../doubles/fake-message-log.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const asAdmin = { 'x-api-key': ADMIN_KEY };
const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, asAdmin);

/** A chat with one unanswered message. */
async function aChat(accountId = 'default') {
  const person = aPerson();
  const { chatId } = await new MemoryInbox(api.state).add(aMessage(accountId, person), 'n1');
  return { id: chatId, ...person };
}

describe('GET /api/chats', () => {
  it('lists chats in pages, last active first', async () => {
    const first = await aChat();
    api.clock.nowMs += 1_000;
    const second = await aChat('sales');
    const page = await call('GET', '/api/chats?limit=1');
    expect(page.body).toMatchObject({
      count: 1,
      data: [{ id: second.id, accountId: 'sales', channelId: second.phone, unanswered: 1 }],
      next: `${api.clock.nowMs}-${second.id}`,
    });
    const last = await call('GET', `/api/chats?limit=1&cursor=${page.body.next}`);
    expect(last.body.data).toMatchObject([{ id: first.id }]);
    expect(last.body).not.toHaveProperty('next');
  });

  it('filters by account, chat and pause', async () => {
    const chat = await aChat();
    await aChat('sales');
    await call('POST', `/api/chats/${chat.id}/pause`);
    for (const query of ['accountId=default', `channelId=${chat.phone}`, 'paused=true']) {
      expect((await call('GET', `/api/chats?${query}`)).body.data).toMatchObject([{ id: chat.id }]);
    }
    expect((await call('GET', '/api/chats?paused=false')).body.data).toMatchObject([{ accountId: 'sales' }]);
  });

  it('searches by text, and continues after the chats that were read', async () => {
    const chat = await aChat();
    expect((await call('GET', `/api/chats?text=${chat.phone.slice(3)}`)).body.data).toMatchObject([
      { id: chat.id, lastMessage: { direction: 'incoming', kind: 'text' } },
    ]);
    const none = await call('GET', '/api/chats?text=nobody');
    expect(none.body).toEqual({ success: true, data: [], count: 0 });
    const end = { activeAtMs: 5, id: '7' };
    api.app.chatStore.searchEnd = async () => end;
    expect((await call('GET', '/api/chats?text=nobody')).body).toMatchObject({ data: [], next: '5-7' });
    expect((await call('GET', '/api/chats?text=%20')).status).toBe(400);
  });

  it('filters by unanswered messages and open dead letters', async () => {
    const chat = await aChat();
    const ids = async (query: string) =>
      (await call('GET', `/api/chats?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids('unanswered=true')).toEqual([chat.id]);
    expect(await ids('unanswered=false')).toEqual([]);
    expect(await ids('failed=true')).toEqual([]);
    expect(await ids('failed=false')).toEqual([chat.id]);
    expect((await call('GET', '/api/chats?failed=maybe')).status).toBe(400);
  });

  it('lists the chats that wait for an operator first, in pages, also when it searches', async () => {
    const chats = [];
    for (let n = 0; n < 6; n += 1) {
      chats.push(await aChat());
      api.clock.nowMs += 1_000;
    }
    const [calm0, waits1, calm2, waits3, calm4, waits5] = chats.map(({ id }) => id);
    for (const id of [waits1, waits3, waits5]) await api.app.chatStore.askAccess(id ?? '');
    const wanted = [waits5, waits3, waits1, calm4, calm2, calm0];
    for (const text of ['', '&text=ana'])
      for (const limit of [1, 2, 3, 4, 6]) {
        const found: string[] = [];
        let cursor = '';
        do {
          const { body } = await call('GET', `/api/chats?order=needs&limit=${limit}${text}${cursor}`);
          found.push(...body.data.map(({ id }: { id: string }) => id));
          cursor = body.next === undefined ? '' : `&cursor=${body.next}`;
        } while (cursor !== '');
        expect(found).toEqual(wanted);
      }
    const only = async (query: string) => (await call('GET', `/api/chats?order=needs&${query}`)).body.data;
    expect(await only('needsYou=true')).toMatchObject([
      { id: waits5, needs: ['stranger'] },
      { id: waits3 },
      {},
    ]);
    expect(await only('needsYou=false')).toMatchObject([{ id: calm4 }, { id: calm2 }, { id: calm0 }]);
  });

  it('lists a chat once that has stopped waiting for an operator meanwhile', async () => {
    const [other, chat] = [await aChat(), await aChat()];
    const { chatStore } = api.app;
    await chatStore.askAccess(chat.id);
    const list = chatStore.list.bind(chatStore);
    chatStore.list = async (query) => {
      const found = await list(query);
      if (query.needsYou) await chatStore.decideAccess(chat.id, 'approved', 'n1');
      return found;
    };
    const { body } = await call('GET', '/api/chats?order=needs');
    expect(body).toMatchObject({ count: 2, data: [{ id: chat.id }, { id: other.id }] });
    expect(body.data[0]).not.toHaveProperty('needs');
  });

  it.each(['x', '1', '1-', '-1', '1-0', '1-x'])('refuses the cursor %s', async (cursor) => {
    expect((await call('GET', `/api/chats?cursor=${cursor}`)).status).toBe(400);
  });

  it('shows a restricted key its chats only', async () => {
    const chat = await aChat();
    const other = await aChat();
    const key = await api.addKey({ scopes: ['messages:read'], chats: [chat.phone] });
    const asKey = { 'x-api-key': key };
    expect((await api.call('GET', '/api/chats', undefined, asKey)).body.data).toMatchObject([
      { id: chat.id },
    ]);
    for (const path of [`/api/chats/${other.id}`, `/api/chats/${other.id}/messages`]) {
      expect((await api.call('GET', path, undefined, asKey)).body.code).toBe('CHAT_NOT_ALLOWED');
    }
  });
});

describe('GET /api/chats/{id}', () => {
  it('finds a chat by id, number with a plus, and LID', async () => {
    const chat = await aChat();
    for (const id of [chat.id, `%2B${chat.phone}`, `${chat.lid}@lid`]) {
      expect((await call('GET', `/api/chats/${id}`)).body.data.id).toBe(chat.id);
    }
  });

  it('takes the digits of a number, and its other written form, for the person', async () => {
    const chat = await aChat();
    for (const id of [chat.phone, `+${chat.phone}`]) {
      expect((await call('GET', `/api/chats/${encodeURIComponent(id)}`)).body.data).toMatchObject({
        id: chat.id,
      });
      const messages = await call('GET', `/api/chats/${encodeURIComponent(id)}/messages`);
      expect(messages.status).toBe(200);
    }
  });

  it.each(['999999', '0', 'x', '+x', '@g.us'])('answers 404 for %s', async (id) => {
    for (const path of [
      `/api/chats/${encodeURIComponent(id)}`,
      `/api/chats/${encodeURIComponent(id)}/messages`,
    ]) {
      expect((await call('GET', path)).body.code).toBe('NOT_FOUND');
    }
  });
});

describe('GET /api/chats/{id}/messages', () => {
  it('reads messages in both directions of the chat, with filters', async () => {
    const { id } = await aChat();
    const since = '2026-01-01T00:00:00.000Z';
    expect((await call('GET', `/api/chats/${id}/messages?text=hola&since=${since}`)).status).toBe(200);
    const common = { chatId: id, text: 'hola', since: new Date(since), limit: 51 };
    expect(api.messageLog.queries).toEqual([common, common]);
  });
});

describe('GET /api/chats/{id}/policy', () => {
  const addRoute = async (change: object) => {
    const { status, body } = await call('POST', '/api/routes', {
      agentEndpoint: 'http://localhost:8000',
      config: { adk: { appName: 'a' }, reply: { maxChars: 900 } },
      ...change,
    });
    expect(status).toBe(201);
    return body.data.id as string;
  };

  it('shows the settings of the route that takes a text, and where each value comes from', async () => {
    const { id, phone, lid } = await aChat();
    const forHelp = await addRoute({ channelId: `${lid}@lid`, regexFilter: 'help', name: 'helper' });
    const forAll = await addRoute({ channelId: '*', config: { adk: { appName: 'a' } } });
    await call('PUT', '/api/settings/conversation', { quota: { messages: 5 } });
    const { body } = await call('GET', `/api/chats/%2B${phone}/policy?text=help`);
    expect(body.data).toMatchObject({
      chatId: id,
      route: { id: forHelp, name: 'helper', channelId: `${lid}@lid` },
      settings: { reply: { maxChars: 900, format: 'whatsapp' }, quota: { messages: 5 } },
      origins: { 'reply.maxChars': 'route', 'reply.format': 'built-in', 'quota.messages': 'default' },
    });
    const other = await call('GET', `/api/chats/${id}/policy`);
    expect(other.body.data).toMatchObject({ route: { id: forAll }, settings: { reply: { maxChars: 4000 } } });
    expect(other.body.data).not.toHaveProperty('reason');
  });

  it('shows the defaults and the reason where no route takes the text', async () => {
    const { id } = await aChat();
    const { body } = await call('GET', `/api/chats/${id}/policy`);
    expect(body.data).toMatchObject({ reason: 'no-route', settings: { egressFilter: 'on' } });
    expect(body.data).not.toHaveProperty('route');
  });

  it('refuses a key of other routes, and answers 404 for no chat', async () => {
    const { id } = await aChat();
    await addRoute({ channelId: '*' });
    const scopes = ['messages:read', 'routes:read'] as const;
    const key = await api.addKey({ scopes: [...scopes], routes: ['6f1c1f0e-8f5c-4b8e-9d3a-2f6f1f4f9a10'] });
    const refused = await api.call('GET', `/api/chats/${id}/policy`, undefined, { 'x-api-key': key });
    expect(refused.body.code).toBe('ROUTE_NOT_ALLOWED');
    expect((await call('GET', '/api/chats/999999/policy')).status).toBe(404);
  });
});

describe('POST /api/chats/{id}/approve and /refuse', () => {
  it('store the decision, and start the worker of a chat with waiting messages', async () => {
    const person = aPerson();
    const inbox = new MemoryInbox(api.state);
    const { chatId, messageId, worker } = await inbox.add(aMessage('default', person), 'n1');
    const waits: TurnResult = { state: 'ignored', reason: 'access-pending', replies: [] };
    await inbox.finishTurn(messageId, waits, { claim: worker });
    const refused = await call('POST', `/api/chats/${chatId}/refuse`);
    expect(refused.body).toMatchObject({
      message: 'Chat refused.',
      data: { access: 'refused', unanswered: 0 },
    });
    expect(api.served).toEqual([]);
    expect((await call('GET', '/api/chats?access=refused')).body.count).toBe(1);
    const approved = await call('POST', `/api/chats/%2B${person.phone}/approve`);
    expect(approved.body).toMatchObject({
      message: 'Chat approved.',
      data: { access: 'approved', unanswered: 1 },
    });
    expect(api.served).toMatchObject([{ chatId }]);
    expect((await call('GET', '/api/chats?access=pending')).body.count).toBe(0);
    const events = api.log.lines.map(({ message }) => message).filter((event) => event.startsWith('chat '));
    expect(events).toEqual(['chat refused', 'chat approved']);
  });

  it('answer 404 for a chat that does not exist, and 403 for a chat of others', async () => {
    const { id } = await aChat();
    const key = await api.addKey({ scopes: ['messages:send'], chats: ['5490000000000'] });
    for (const verb of ['approve', 'refuse']) {
      expect((await call('POST', `/api/chats/999999/${verb}`)).status).toBe(404);
      const other = await api.call('POST', `/api/chats/${id}/${verb}`, undefined, { 'x-api-key': key });
      expect(other.body.code).toBe('CHAT_NOT_ALLOWED');
    }
  });
});

describe('POST /api/chats/{id}/pause and /resume', () => {
  it('pause a chat for some minutes and resume it, in the log without its address', async () => {
    const { id, phone } = await aChat();
    const paused = await call('POST', `/api/chats/${id}/pause`, { minutes: 30, reason: 'Maria answers.' });
    const since = new Date(api.clock.nowMs);
    expect(paused).toMatchObject({
      status: 200,
      body: {
        message: 'Chat paused.',
        data: {
          pause: {
            since: since.toISOString(),
            until: new Date(since.getTime() + 1_800_000).toISOString(),
            reason: 'Maria answers.',
          },
        },
      },
    });
    const resumed = await call('POST', `/api/chats/${id}/resume`);
    expect(resumed.body.message).toBe('Chat resumed.');
    expect(resumed.body.data).not.toHaveProperty('pause');
    const lines = api.log.lines.filter(({ message }) => /^chat (paused|resumed)$/.test(message));
    expect(lines.map(({ message }) => message)).toEqual(['chat paused', 'chat resumed']);
    expect(JSON.stringify(lines)).not.toContain(phone);
  });

  it('answer missed messages when asked to', async () => {
    const inbox = new MemoryInbox(api.state);
    const { chatId, messageId, worker } = await inbox.add(aMessage('default', aPerson()), 'n1');
    const paused: TurnResult = { state: 'ignored', reason: 'chat-paused', replies: [] };
    await inbox.finishTurn(messageId, paused, { claim: worker });
    await call('POST', `/api/chats/${chatId}/resume`);
    expect(api.served).toEqual([]);
    const { body } = await call('POST', `/api/chats/${chatId}/resume`, { answerMissed: true });
    expect(body.data.unanswered).toBe(1);
    expect(api.served).toMatchObject([{ chatId }]);
    expect((await call('POST', `/api/chats/${chatId}/resume`, { answerMissed: 1 })).status).toBe(400);
  });

  it('pause a chat without an end by default', async () => {
    const { id } = await aChat();
    const { body } = await call('POST', `/api/chats/${id}/pause`);
    expect(body.data.pause).toEqual({ mode: 'listen-only', since: new Date(api.clock.nowMs).toISOString() });
    const approve = await call('POST', `/api/chats/${id}/pause`, { mode: 'approve' });
    expect(approve.body.data.pause.mode).toBe('approve');
  });

  it.each([
    { minutes: 0 },
    { minutes: 1.5 },
    { minutes: 525_601 },
    { reason: '' },
    { until: 'x' },
    { mode: 'quiet' },
  ])('refuse %j', async (body) => {
    const { id } = await aChat();
    expect((await call('POST', `/api/chats/${id}/pause`, body)).status).toBe(400);
  });

  it('answer 404 for a chat that does not exist, and 403 for a chat of others', async () => {
    const { id } = await aChat();
    const key = await api.addKey({ scopes: ['messages:send'], chats: ['5490000000000'] });
    for (const verb of ['pause', 'resume']) {
      expect((await call('POST', `/api/chats/999999/${verb}`)).status).toBe(404);
      const refused = await api.call('POST', `/api/chats/${id}/${verb}`, undefined, { 'x-api-key': key });
      expect(refused.body.code).toBe('CHAT_NOT_ALLOWED');
    }
  });
});

describe('PUT /api/chats/{id}/tags and /notes', () => {
  it('replace tags, each once and in lower case, and notes, and show them with the chat', async () => {
    const { id } = await aChat();
    await aChat();
    const tagged = await call('PUT', `/api/chats/${id}/tags`, { tags: ['VIP', 'madrid', 'vip'] });
    expect(tagged).toMatchObject({ status: 200, body: { data: { tags: ['madrid', 'vip'] } } });
    const withNotes = await call('PUT', `/api/chats/${id}/notes`, { notes: ' Call after six. ' });
    expect(withNotes.body.data).toMatchObject({ tags: ['madrid', 'vip'], notes: 'Call after six.' });
    expect((await call('GET', '/api/chats?tag=Vip')).body.data).toEqual([withNotes.body.data]);
    expect((await call('GET', '/api/chats?tag=gold')).body.count).toBe(0);
    await call('PUT', `/api/chats/${id}/tags`, { tags: [] });
    await call('PUT', `/api/chats/${id}/notes`, { notes: '' });
    const { data } = (await call('GET', `/api/chats/${id}`)).body;
    expect([data.tags, data.notes]).toEqual([undefined, undefined]);
    expect(JSON.stringify(api.log.lines)).not.toMatch(/after six|vip/i);
  });

  it.each([
    ['tags', { tags: ['two words'] }, 'must be one word of at most 32 letters, digits, - and _'],
    ['tags', { tags: [''] }, 'must be one word'],
    ['tags', { tags: Array.from({ length: 21 }, (_, tag) => `t${tag}`) }, '20'],
    ['tags', {}, 'tags'],
    ['notes', { notes: 'x'.repeat(2_001) }, '2000'],
    ['notes', { notes: 7 }, 'notes'],
  ])('refuse for %s %o', async (what, body, expected) => {
    const { id } = await aChat();
    const { status, body: problem } = await call('PUT', `/api/chats/${id}/${what}`, body);
    expect(status).toBe(400);
    expect(JSON.stringify(problem)).toContain(expected);
  });

  it('answer 404 for a chat that does not exist, and 403 for a chat of others', async () => {
    const { id } = await aChat();
    const key = await api.addKey({ scopes: ['messages:send'], chats: ['5490000000000'] });
    for (const [what, body] of [
      ['tags', { tags: ['vip'] }],
      ['notes', { notes: 'x' }],
    ] as const) {
      expect((await call('PUT', `/api/chats/999999/${what}`, body)).status).toBe(404);
      const refused = await api.call('PUT', `/api/chats/${id}/${what}`, body, { 'x-api-key': key });
      expect(refused.body.code).toBe('CHAT_NOT_ALLOWED');
    }
  });
});

describe('GET /api/chats/{id}/export', () => {
  it('writes the chat and its messages as JSON lines, oldest first', async () => {
    const chat = await aChat();
    const channelId = chat.phone;
    api.messageLog.rows = [aReceivedMessage({ id: '2', channelId })];
    api.messageLog.sentRows = [aSentMessage({ id: '3', channelId })];
    const response = await call('GET', `/api/chats/${chat.id}/export`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename=chat-${chat.id}.jsonl`);
    const lines = response.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { type: 'chat', id: chat.id },
      { type: 'message', id: '2', direction: 'incoming' },
      { type: 'message', id: '3', direction: 'outgoing' },
      { type: 'end', messages: 2 },
    ]);
    expect(lines[1]).not.toHaveProperty('replies');
  });

  it('ends without its last line when the database fails meanwhile', async () => {
    const chat = await aChat();
    api.messageLog.failure = new Error('away');
    await expect(call('GET', `/api/chats/${chat.id}/export`)).rejects.toThrow();
  });

  it('is not for a key of other chats', async () => {
    const chat = await aChat();
    const key = await api.addKey({ scopes: ['messages:read'], chats: ['34600000001'] });
    const answer = await api.call('GET', `/api/chats/${chat.id}/export`, undefined, { 'x-api-key': key });
    expect(answer.body.code).toBe('CHAT_NOT_ALLOWED');
  });
});
