import { describe, expect, it } from 'vitest';
import { aMessage, aPerson, aReply } from '../../contracts/adapters.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, body, { 'x-api-key': ADMIN_KEY });

/** A message whose answer waits for the owner. */
async function aDraft(text = 'At nine.', accountId = 'default') {
  const person = aPerson();
  const inbox = new MemoryInbox(api.state);
  const { messageId, chatId, worker } = await inbox.add(aMessage(accountId, person, { text: 'When?' }), 'n1');
  const replies = [aReply(accountId, `${person.phone}@s.whatsapp.net`, text)];
  await inbox.finishTurn(
    messageId,
    { state: 'answered', reason: 'draft', isDraft: true, replies },
    { claim: worker },
  );
  return { id: messageId, chatId, phone: person.phone };
}

describe('drafts of the API', () => {
  it('are listed in pages and shown', async () => {
    const [first, second] = [await aDraft(), await aDraft()];
    const page = await call('GET', '/api/drafts?limit=1');
    expect(page.body).toMatchObject({
      count: 1,
      next: first.id,
      data: [{ id: first.id, question: 'When?' }],
    });
    const last = await call('GET', `/api/drafts?limit=1&cursor=${first.id}`);
    expect(last.body.data).toMatchObject([{ id: second.id, replies: [{ text: 'At nine.' }] }]);
    expect((await call('GET', `/api/drafts?channelId=${second.phone}`)).body.count).toBe(1);
    expect((await call('GET', `/api/drafts/${first.id}`)).body.data).toMatchObject({
      channelId: first.phone,
    });
  });

  it('are those of every account, or of one', async () => {
    const [own, other] = [await aDraft(), await aDraft('At ten.', 'sales')];
    expect((await call('GET', '/api/drafts')).body.data).toMatchObject([{ id: own.id }, { id: other.id }]);
    expect((await call('GET', '/api/drafts?accountId=sales')).body.data).toMatchObject([{ id: other.id }]);
    const key = await api.addKey({ scopes: ['messages:read'], accounts: ['sales'] });
    const listed = await api.call('GET', '/api/drafts', undefined, { 'x-api-key': key });
    expect(listed.body.data).toMatchObject([{ id: other.id }]);
  });

  it('are sent as they are, or with another text', async () => {
    const [first, second] = [await aDraft(), await aDraft()];
    expect(await call('POST', `/api/drafts/${first.id}/approve`)).toMatchObject({
      status: 200,
      body: { message: 'Draft approved.' },
    });
    await call('POST', `/api/drafts/${second.id}/approve`, { text: 'At ten.' });
    expect(api.sent.map(({ text }) => text)).toEqual(['At nine.', 'At ten.']);
    const again = await call('POST', `/api/drafts/${first.id}/approve`);
    expect([again.status, api.sent.length]).toEqual([404, 2]);
  });

  it('are dropped', async () => {
    const { id } = await aDraft();
    expect((await call('POST', `/api/drafts/${id}/drop`)).body.message).toBe('Draft dropped.');
    expect((await call('POST', `/api/drafts/${id}/drop`)).status).toBe(404);
    expect((await call('GET', '/api/drafts')).body.count).toBe(0);
    expect(api.sent).toEqual([]);
  });

  it.each([{ text: '' }, { text: ' ' }, { text: 5 }, { texts: 'x' }])('refuse %j', async (body) => {
    const { id } = await aDraft();
    expect((await call('POST', `/api/drafts/${id}/approve`, body)).status).toBe(400);
  });

  it('show a restricted key those of its chats only', async () => {
    const [mine, other] = [await aDraft(), await aDraft()];
    const key = await api.addKey({ scopes: ['messages:read', 'messages:send'], chats: [mine.phone] });
    const asKey = { 'x-api-key': key };
    const listed = await api.call('GET', '/api/drafts', undefined, asKey);
    expect(listed.body.data).toMatchObject([{ id: mine.id }]);
    for (const [method, path] of [
      ['GET', `/api/drafts/${other.id}`],
      ['POST', `/api/drafts/${other.id}/approve`],
      ['POST', `/api/drafts/${other.id}/drop`],
    ] as const) {
      expect((await api.call(method, path, undefined, asKey)).body.code).toBe('CHAT_NOT_ALLOWED');
    }
    for (const id of ['0', 'x', '999999'])
      expect((await call('GET', `/api/drafts/${id}`)).body.code).toBe('NOT_FOUND');
  });
});
