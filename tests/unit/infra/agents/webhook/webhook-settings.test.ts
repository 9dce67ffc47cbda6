import { describe, expect, it } from 'vitest';
import { textsOf } from '../../../../../router/src/infra/agents/route-secrets.ts';
import { webhookSettings } from '../../../../../router/src/infra/agents/webhook/webhook-body.ts';

describe('webhookSettings', () => {
  it.each([
    {},
    {
      method: 'PUT',
      reply: 'async',
      output: 'data.0.answer',
      body: { a: ['{{text}}', 1] },
      timeoutMs: 1_000,
    },
    { body: ['{{text}}'] },
  ])('accept %j', (settings) => {
    expect(webhookSettings.safeParse(settings).success).toBe(true);
  });

  it.each([
    { method: 'GET' },
    { secret: 'short' },
    { body: 'text' },
    { reply: 'later' },
    { output: '' },
    { output: 'a..b' },
    { output: '.a' },
    { output: 'a b' },
    { url: 'http://x' },
  ])('refuse %j', (settings) => {
    expect(webhookSettings.safeParse(settings).success).toBe(false);
  });

  it('have the secret and the header values as secrets, and no part of the body', () => {
    const settings = { secret: 'a-secret-key', headers: { 'X-Key': 'k' }, body: { secret: '{{text}}' } };
    const paths = textsOf(webhookSettings, settings, 'password').map(({ path }) => path.join('.'));
    expect(paths.sort()).toEqual(['headers.X-Key', 'secret']);
  });
});
