import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aMessage, aPerson } from '../../../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../../../doubles/memory-inbox.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterEach(() => api.close());

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

  it('pause a chat without an end by default', async () => {
    const { id } = await aChat();
    const { body } = await call('POST', `/api/chats/${id}/pause`);
    expect(body.data.pause).toEqual({ since: new Date(api.clock.nowMs).toISOString() });
  });

  it.each([{ minutes: 0 }, { minutes: 1.5 }, { minutes: 525_601 }, { reason: '' }, { until: 'x' }])(
    'refuse %j',
    async (body) => {
      const { id } = await aChat();
      expect((await call('POST', `/api/chats/${id}/pause`, body)).status).toBe(400);
    },
  );

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
