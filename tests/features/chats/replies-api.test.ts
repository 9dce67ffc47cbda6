import { describe, expect, it } from 'vitest';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

/** A token of a message whose turn ended without an answer. */
async function aToken(): Promise<string> {
  const inbox = new MemoryInbox(api.state);
  const { messageId } = await inbox.add(
    {
      accountId: 'default',
      waMessageId: `M${api.state.nextId()}`,
      chat: { kind: 'person', phone: '5491112345678' as never },
      sender: { phone: '5491112345678' as never },
      kind: 'text',
      text: 'hello',
      sentAtMs: 0,
      stanzaOrder: 1n,
    },
    'n1',
  );
  const token = await api.replyTokens.issue(messageId);
  await inbox.finishTurn(messageId, { state: 'answered', reason: 'agent-later', replies: [] });
  return token;
}

const reply = (token: string, body: unknown) => api.call('POST', `/api/replies/${token}`, body);
const png = { mimeType: 'image/png', data: Buffer.from('png').toString('base64') };

describe('POST /api/replies/:token', () => {
  it('sends the answer to the chat of the message, without a key', async () => {
    const { status, body } = await reply(await aToken(), { text: 'Your table is booked.' });
    expect(status).toBe(202);
    expect(body).toEqual({ success: true, data: { replies: [expect.stringMatching(/^\d+$/)] } });
    expect(api.sent).toMatchObject([{ to: '5491112345678@s.whatsapp.net', text: 'Your table is booked.' }]);
  });

  it('sends a file with the text as its caption', async () => {
    const media = { ...png, fileName: 'a/b.png' };
    expect((await reply(await aToken(), { text: 'Look', media })).status).toBe(202);
    expect(api.sent).toMatchObject([
      { text: 'Look', media: { kind: 'image', mimeType: 'image/png', fileName: 'a_b.png', sizeBytes: 3 } },
    ]);
    expect((await reply(await aToken(), { media: { ...png, mimeType: 'application/pdf' } })).status).toBe(
      202,
    );
    expect(api.sent[1]).toMatchObject({ text: '', media: { kind: 'document' } });
  });

  it('sends the address of a file whose host is not allowed', async () => {
    const media = { url: 'https://example.com/bill.pdf', fileName: 'bill.pdf' };
    expect((await reply(await aToken(), { text: 'Here', media })).status).toBe(202);
    expect(api.sent).toMatchObject([{ text: 'Here\nbill.pdf: https://example.com/bill.pdf' }]);
  });

  it('answers a message once', async () => {
    const token = await aToken();
    expect((await reply(token, { text: 'one' })).status).toBe(202);
    expect(await reply(token, { text: 'two' })).toMatchObject({
      status: 409,
      body: { code: 'REPLY_TOKEN_USED' },
    });
    expect(api.sent).toHaveLength(1);
  });

  it('refuses an expired token', async () => {
    const token = await aToken();
    api.clock.nowMs += 24 * 60 * 60 * 1_000 - 1;
    expect(await api.replyTokens.stateOf(token)).toBe('valid');
    api.clock.nowMs += 1;
    expect(await reply(token, { text: 'late' })).toMatchObject({
      status: 410,
      body: { code: 'REPLY_TOKEN_EXPIRED' },
    });
    expect(api.sent).toEqual([]);
  });

  it.each(['x', 'A'.repeat(43), 'A'.repeat(5_000), '%00'])('refuses an unknown token: %s', async (token) => {
    expect(await reply(token, { text: 'hello' })).toMatchObject({
      status: 404,
      body: { code: 'REPLY_TOKEN_UNKNOWN' },
    });
  });

  it('refuses a token before it reads the body', async () => {
    const huge = JSON.stringify({ text: 'x'.repeat(16 * 1024 * 1024) });
    expect((await reply('A'.repeat(43), huge)).status).toBe(404);
    expect((await reply('A'.repeat(43), '{"text": ')).status).toBe(404);
  });

  it.each([
    [{}, 'text is missing; send text, media, or both.'],
    [{ text: ' ' }, 'text is missing; send text, media, or both.'],
    [{ text: 7 }, 'text must be a string.'],
    [{ text: 'a', to: 'b' }, 'to is not a known field.'],
    [{ media: { ...png, data: 'ñ' } }, 'media.data must be base64.'],
    [{ media: { ...png, data: '=' } }, 'media.data must contain the bytes of a file.'],
    [{ media: { ...png, mimeType: 'picture' } }, 'media.mimeType must be a media type such as image/png.'],
    [{ media: { ...png, url: 'http://x' } }, 'media.url cannot be combined with data.'],
    [{ media: { mimeType: 'image/png' } }, 'media.data is missing; send data or url.'],
    [{ media: { data: 'YQ==' } }, 'media.mimeType is missing.'],
    [{ media: { url: 'file:///x' } }, 'media.url must be an http:// or https:// URL.'],
  ])('refuses %j and leaves the token valid', async (body, sentence) => {
    const token = await aToken();
    const answer = await reply(token, body);
    expect([answer.status, answer.body.error]).toEqual([400, sentence]);
    expect(await api.replyTokens.stateOf(token)).toBe('valid');
  });

  it('takes a file of 10 MB, and not one more byte', async () => {
    const data = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64');
    const token = await aToken();
    const tooLarge = await reply(token, { media: { ...png, data: data(10_000_001) } });
    expect([tooLarge.status, tooLarge.body.error]).toEqual([400, 'media.data must contain at most 10 MB.']);
    expect((await reply(token, { media: { ...png, data: data(10_000_000) } })).status).toBe(202);
    const body = { text: 'x', media: { ...png, data: 'A'.repeat(16 * 1024 * 1024) } };
    expect(await reply(await aToken(), body)).toMatchObject({
      status: 413,
      body: { error: 'The body must not be larger than 15 MB.' },
    });
  });

  it('never logs the token', async () => {
    const token = await aToken();
    await reply(token, { text: 'one' });
    await reply(token, { text: 'two' });
    expect(api.log.lines).toMatchObject([{ message: 'late answer stored', fields: { replies: 1 } }]);
    expect(JSON.stringify(api.log.lines)).not.toContain(token);
  });
});
