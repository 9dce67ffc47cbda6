import { describe, expect, it } from 'vitest';
import { describeCard, type MessageCard } from '../../../../router/src/core/messages/message-card.ts';

describe('describeCard', () => {
  it.each<[MessageCard, string]>([
    [{ kind: 'location', latitude: 52.5, longitude: -13.4 }, 'Location: (52.5, -13.4)'],
    [
      { kind: 'location', latitude: 1, longitude: 2, name: 'Café Uno', address: 'Main St 1', isLive: true },
      'Live location: Café Uno, Main St 1 (1, 2)',
    ],
    [
      {
        kind: 'contacts',
        contacts: [
          { name: 'Ana', phones: ['34600000001', '34600000002'] },
          { name: 'Bo', phones: [] },
        ],
      },
      'Contact: Ana, 34600000001, 34600000002\nContact: Bo',
    ],
    [
      { kind: 'poll', question: 'When?', options: ['Mon', 'Tue'], selectable: 1 },
      'Poll: When?\n- Mon\n- Tue',
    ],
    [
      { kind: 'event', name: 'Party', place: 'Home', startsAt: '2026-01-01T20:00:00.000Z', isCanceled: true },
      'Canceled event: Party\nStarts: 2026-01-01T20:00:00.000Z\nPlace: Home',
    ],
    [{ kind: 'link', url: 'https://example.com', title: 'Example' }, 'Example\nhttps://example.com'],
    [{ kind: 'choice', id: 'b1' }, 'b1'],
  ])('of %j', (card, text) => {
    expect(describeCard(card)).toBe(text);
  });
});
