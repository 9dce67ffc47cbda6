import { describe, expect, it, vi } from 'vitest';
import { conversationFields } from '../../../../router/src/core/policies/conversation-fields.ts';

const presenceField = conversationFields.presence;

describe('the emoji of a reaction', () => {
  it.each(['👀', '✅', '❤️', '👩‍👩‍👧', '🇪🇸', '1️⃣'])('can be %s', (emoji) => {
    expect(presenceField.parse({ reactions: { working: emoji } })).toEqual({
      reactions: { working: emoji },
    });
  });

  it.each(['', 'a', '1', '#', 'ok', '👀👀', ' 👀'])('cannot be %j', (emoji) => {
    expect(presenceField.safeParse({ reactions: { working: emoji } }).success).toBe(false);
  });

  it('is not looked into when it is too long: the segments of a long text fill the memory', () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment');
    expect(presenceField.safeParse({ reactions: { done: '👀'.repeat(50_000) } }).success).toBe(false);
    expect(segment).not.toHaveBeenCalled();
    segment.mockRestore();
  });
});
