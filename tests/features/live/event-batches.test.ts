import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../../router/src/core/live/live-event.ts';
import { type EventBatch, EventBatches } from '../../../router/src/features/live/event-batches.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const published: Array<EventBatch & { atMs: number }> = [];
  const startMs = clock.now();
  const batches = new EventBatches({
    run: 'r',
    publish: (batch) => published.push({ ...batch, atMs: clock.now() - startMs }),
    clock,
  });
  return { clock, batches, published };
}

const event = (id: number, fact = ''): LiveEvent => ({
  type: 'message',
  at: '2026-01-01T00:00:00.000Z',
  id: String(id),
  fact,
});
const ids = ({ events }: EventBatch) => events.map(({ id }) => Number(id));

describe('EventBatches', () => {
  it('publishes the first event at once and the following ones five times a second', async () => {
    const { clock, batches, published } = setup();
    for (let n = 0; n < 100; n++) {
      batches.add(event(n));
      await clock.advanceMs(10);
    }
    await clock.advanceMs(200);
    expect(published[0]?.atMs).toBe(10);
    expect(published.length).toBeLessThanOrEqual(6);
    expect(published.flatMap(ids)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(published.map(({ number }) => number)).toEqual(published.map((_, index) => index + 1));
  });

  it('needs no timer without events', async () => {
    const { clock, batches } = setup();
    batches.add(event(1));
    await clock.advanceMs(1_000);
    expect(clock.sleeping).toBe(0);
  });

  it('splits what does not fit into one message of PostgreSQL', async () => {
    const { clock, batches, published } = setup();
    for (let n = 0; n < 60; n++) batches.add(event(n, 'x'.repeat(200)));
    await clock.advanceMs(10);
    expect(published.length).toBeGreaterThan(1);
    for (const batch of published) expect(JSON.stringify(batch).length).toBeLessThan(7_000);
    expect(published.flatMap(ids)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  });

  it('leaves a gap in the numbers when it publishes less than it got', async () => {
    const { clock, batches, published } = setup();
    for (let n = 0; n < 1_000; n++) batches.add(event(n, 'x'.repeat(200)));
    await clock.advanceMs(10);
    const last = published.at(-1)?.number ?? 0;
    expect(published.flatMap(ids).length).toBeLessThan(1_000);
    batches.add(event(1_000));
    await clock.advanceMs(200);
    expect(published.at(-1)?.number).toBe(last + 2);
  });

  it('greets with the number of its last batch, after what waits', async () => {
    const { clock, batches, published } = setup();
    batches.greet();
    batches.add(event(1));
    batches.greet();
    expect(published.map((batch) => [batch.number, ids(batch)])).toEqual([
      [0, []],
      [1, [1]],
      [1, []],
    ]);
    await clock.advanceMs(1_000);
    expect(published).toHaveLength(3);
  });
});
