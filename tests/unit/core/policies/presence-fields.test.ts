import { describe, expect, it } from 'vitest';
import { presenceField } from '../../../../router/src/core/policies/presence-fields.ts';

describe('the emoji of a reaction', () => {
  it.each(['👀', '✅', '❤️', '👩‍👩‍👧', '🇪🇸', '1️⃣'])('can be %s', (emoji) => {
    expect(presenceField.parse({ reactions: { working: emoji } })).toEqual({
      reactions: { working: emoji },
    });
  });

  it.each(['', 'a', '1', '#', 'ok', '👀👀', ' 👀'])('cannot be %j', (emoji) => {
    expect(presenceField.safeParse({ reactions: { working: emoji } }).success).toBe(false);
  });
});
