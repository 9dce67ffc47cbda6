import { createHmac, timingSafeEqual } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signatureHeaders } from '../../../../../router/src/infra/agents/webhook/webhook-body.ts';

describe('signatureHeaders', () => {
  it('are those of the documentation', () => {
    expect(signatureHeaders('a-secret-key', '{"text":"hello"}', 1_767_322_999_999)).toEqual({
      'x-wa2ai-timestamp': '1767322999',
      'x-wa2ai-signature': 'sha256=c826df2b390784fd0bf6d8a4cd604d19b0b0b49754f0eb5e10b1ba4aa8946fd5',
    });
  });

  it('are accepted by the check of the documentation, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 8 }), (body, secret) => {
        const headers = signatureHeaders(secret, body, 1_000);
        const bytes = Buffer.from(body);
        const expected = createHmac('sha256', secret)
          .update(`${headers['x-wa2ai-timestamp']}.`)
          .update(bytes)
          .digest();
        const given = Buffer.from(headers['x-wa2ai-signature']?.slice('sha256='.length) ?? '', 'hex');
        expect(timingSafeEqual(expected, given)).toBe(true);
      }),
    );
  });
});
