import { describe, expect, it } from 'vitest';
import { EventRing } from '../../../router/src/features/live/event-batches.ts';

const at = '2026-01-01T00:00:00.000Z';

function ringOf(count: number, capacity = 3): EventRing {
  const ring = new EventRing('a1', capacity);
  for (let n = 1; n <= count; n++) ring.add({ type: 'message', at, id: String(n) });
  return ring;
}

describe('EventRing', () => {
  it('keeps the last events under their positions', () => {
    const ring = ringOf(5);
    expect(ring.last).toBe(5);
    expect([0, 1, 2, 3, 4, 5, 6].map((position) => ring.at(position)?.event.id)).toEqual([
      ...[undefined, undefined, undefined],
      ...['3', '4', '5', undefined],
    ]);
  });

  it('lets a reader continue as long as nothing after its position is gone', () => {
    const ring = ringOf(5);
    expect([1, 2, 5, 6].map((position) => ring.continuesAfter(position))).toEqual([false, true, true, false]);
    expect(ringOf(0).continuesAfter(0)).toBe(true);
  });

  it('knows its own ids only, and those after which a reader can continue', () => {
    const ring = ringOf(5);
    const ids = ['a1-5', 'a1-2', 'a1-1', 'a1-6', 'b1-5', 'a1-', 'a1-4x', '', `a1-${'9'.repeat(20)}`];
    expect(ids.map((id) => ring.positionOf(id))).toEqual([5, 2, ...Array.from({ length: 7 })]);
    expect(ring.positionOf(ring.idOf(4))).toBe(4);
  });

  it('writes an event as one server-sent event, also when a fact has line breaks', () => {
    const ring = ringOf(0);
    ring.add({ type: 'turn', at, id: '7', reason: 'a\n\nb' });
    expect(ring.at(1)?.frame).toBe(
      `id: a1-1\nevent: turn\ndata: {"type":"turn","at":"${at}","id":"7","reason":"a\\n\\nb"}\n\n`,
    );
  });
});
