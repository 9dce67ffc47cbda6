import { describe, expect, it } from 'vitest';
import {
  type SpecialMessage,
  specialView,
  textOfSpecial,
} from '../../../../router/src/core/delivery/special-message.ts';

const poll = {
  kind: 'poll' as const,
  question: 'When?',
  options: ['Mon', 'Tue'],
  selectable: 1,
  secret: 's',
};

describe('textOfSpecial', () => {
  it.each<[SpecialMessage, string]>([
    [{ kind: 'location', latitude: 1, longitude: 2, name: 'Café' }, 'Location: Café (1, 2)'],
    [{ kind: 'contacts', contacts: [{ name: 'Ana', phone: '34600000001' }] }, 'Contact: Ana, 34600000001'],
    [poll, 'Poll: When?\n- Mon\n- Tue'],
    [{ kind: 'reaction', emoji: '👍', of: 'a', atMs: 1 }, '👍'],
    [{ kind: 'edit', of: 'a', atMs: 1 }, ''],
    [{ kind: 'deletion', of: 'a' }, ''],
  ])('of %j', (special, text) => {
    expect(textOfSpecial(special)).toBe(text);
  });
});

describe('specialView', () => {
  it('has everything but the key of a poll', () => {
    const { secret: _, ...shown } = poll;
    expect(specialView(poll)).toEqual(shown);
    const deletion = { kind: 'deletion' as const, of: 'a' };
    expect(specialView(deletion)).toEqual(deletion);
  });
});
