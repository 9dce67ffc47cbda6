import { describe, expect, it } from 'vitest';
import { decideRefusal, messageRefused } from '../../../../router/src/core/delivery/govern-contacts.ts';
import { say } from '../../../../router/src/core/phrases.ts';

type Refusal = Parameters<typeof decideRefusal>[0];

const HOUR_MS = 3_600_000;
const cold: Refusal = { code: '463', attempts: 1, isCold: true };
const warm: Refusal = { code: '463', attempts: 1, isCold: false };

describe('a message that WhatsApp refused', () => {
  it.each<[string, Refusal, object]>([
    ['463 to a new person alone ends it', cold, { reason: 'contact-refused' }],
    [
      '463 to a new person during a limit waits for its end',
      { ...cold, limitLeftMs: HOUR_MS },
      { delayMs: HOUR_MS },
    ],
    ['463 to a person who wrote is repeated with the privacy token', warm, { delayMs: 15_000 }],
    [
      '463 to a person who wrote is repeated during a limit too',
      { ...warm, limitLeftMs: HOUR_MS },
      { delayMs: 15_000 },
    ],
    ['463 to a person who wrote ends after three sends', { ...warm, attempts: 3 }, {}],
    [
      '463 to a person who wrote waits for the end of the limit after three sends',
      { ...warm, attempts: 3, limitLeftMs: HOUR_MS },
      { delayMs: HOUR_MS },
    ],
    [
      '429 waits for the end of the limit',
      { ...warm, code: '429', limitLeftMs: 300_000 },
      { delayMs: 300_000 },
    ],
    ['another code ends it', { ...cold, code: '479' }, {}],
  ])('%s', (_, refusal, expected) => {
    const { error, ...outcome } = decideRefusal(refusal);
    expect(outcome).toEqual(expected);
    expect(error.sentence).toMatch(/^WhatsApp refused .*\.$/);
  });

  it('is stored with what was decided; an unknown id changes nothing', async () => {
    const marked: unknown[][] = [];
    const outbox = {
      refusedRow: async (_: string, id: string) =>
        id === 'known' ? { attempts: 1, isCold: true } : undefined,
      markRefused: async (...args: unknown[]) => void marked.push(args),
    };
    for (const waMessageId of ['known', 'unknown']) {
      await messageRefused(outbox, { accountId: 'a', waMessageId, code: '463' });
    }
    expect(marked).toEqual([['a', 'known', say('send.contact-refused'), { reason: 'contact-refused' }]]);
  });
});
