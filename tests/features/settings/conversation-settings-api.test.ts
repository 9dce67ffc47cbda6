import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const call = (method: string, body?: unknown, key = ADMIN_KEY) =>
  api.call(method, '/api/settings/conversation', body, { 'x-api-key': key });

describe('/api/settings/conversation', () => {
  it('shows the built-in values, then what was stored, each with its origin', async () => {
    expect((await call('GET')).body.data).toMatchObject({
      stored: {},
      inUse: { reply: { format: 'whatsapp', maxChars: 4000 }, egressFilter: 'on' },
      origins: { 'reply.format': 'built-in' },
    });
    const { status, body } = await call('PUT', { reply: { maxChars: 500 } });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      stored: { reply: { maxChars: 500 } },
      inUse: { reply: { format: 'whatsapp', maxChars: 500 } },
      origins: { 'reply.format': 'built-in', 'reply.maxChars': 'default' },
    });
    expect((await call('GET')).body.data).toEqual(body.data);
  });

  it.each([
    [{ reply: { maxChars: 1 } }, 'reply.maxChars', 'must be at least 100'],
    [{ reply: { format: 'html' } }, 'reply.format', 'must be'],
    [{ replies: {} }, 'replies', 'is not a known field'],
    [{ texts: { own: { 'es.quota': 'En {minute} minutos' } } }, 'texts.own.es.quota', 'has {minute}, which'],
    [{ texts: { own: { 'xx.quota': 'Later' } } }, 'texts.own.xx.quota', 'is not allowed'],
  ])('refuses %o', async (body, field, message) => {
    const { status, body: problem } = await call('PUT', body);
    expect(status).toBe(400);
    expect(problem.details[0].field).toBe(field);
    expect(problem.details[0].message).toContain(message);
  });

  it('needs the scope agents:manage', async () => {
    const key = await api.addKey({ scopes: ['tasks'] });
    expect((await call('GET', undefined, key)).status).toBe(403);
    expect((await call('PUT', {}, key)).status).toBe(403);
  });
});
