import { describe, expect, it } from 'vitest';
import { redactor } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';

const redact = redactor({
  text: 'my "private" words',
  userId: '5493777239922',
  sessionId: '5493777239922_5493777239922',
  secrets: ['Bearer token-of-the-route', 'token-of-the-route', 'short'],
});

describe('redactor', () => {
  it.each([
    ['header was Bearer token-of-the-route', 'header was [secret]'],
    ['you said my "private" words', 'you said [message text]'],
    ['{"got":"my \\"private\\" words"}', '{"got":"[message text]"}'],
    ['no luck with 5493777239922_5493777239922 of 5493777239922', 'no luck with [session] of [user]'],
    ['a short word stays', 'a short word stays'],
  ])('turns %j into %j', (written, shown) => {
    expect(redact(written)).toBe(shown);
  });
});
