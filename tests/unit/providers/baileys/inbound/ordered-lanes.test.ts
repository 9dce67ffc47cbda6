import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OrderedLanes } from '../../../../../router/src/providers/baileys/inbound/ordered-lanes.ts';

let lanes: OrderedLanes;
let done: string[];

beforeEach(() => {
  vi.useFakeTimers();
  lanes = new OrderedLanes(2);
  done = [];
});
afterEach(() => {
  vi.useRealTimers();
});

const task = (name: string) => async () => {
  done.push(name);
};
const tick = () => vi.advanceTimersByTimeAsync(0);

/** A task that runs until it is let go. */
function heldTask(name: string): { run: () => Promise<void>; letGo: () => void } {
  let letGo = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    run: async () => {
      done.push(`${name} starts`);
      await gone;
      done.push(name);
    },
    letGo: () => letGo(),
  };
}

describe('the order within a lane', () => {
  it('is that of the slots, whatever gets ready first', async () => {
    const [one, two, three] = [lanes.reserve('a'), lanes.reserve('a'), lanes.reserve('a')];
    lanes.fill(three, task('three'));
    lanes.fill(two, task('two'));
    await tick();
    expect(done).toEqual([]);
    lanes.fill(one, task('one'));
    await tick();
    expect(done).toEqual(['one', 'two', 'three']);
  });

  it('goes on past a slot that nothing comes of', async () => {
    const one = lanes.reserve('a');
    lanes.push('a', task('two'));
    lanes.release(one);
    await tick();
    expect(done).toEqual(['two']);
  });

  it('waits for a slot until it is filled or released', async () => {
    const one = lanes.reserve('a');
    lanes.push('a', task('two'));
    await vi.advanceTimersByTimeAsync(600_000);
    expect(done).toEqual([]);
    lanes.release(one);
    await tick();
    expect(done).toEqual(['two']);
  });

  it('still runs what comes of a slot that was released', async () => {
    const one = lanes.reserve('a');
    lanes.push('a', task('two'));
    lanes.release(one);
    lanes.fill(one, task('one, late'));
    await tick();
    expect(done).toEqual(['two', 'one, late']);
  });

  it('starts a task when the one before has ended', async () => {
    const first = heldTask('first');
    lanes.push('a', first.run);
    lanes.push('a', task('second'));
    await tick();
    expect(done).toEqual(['first starts']);
    first.letGo();
    await tick();
    expect(done).toEqual(['first starts', 'first', 'second']);
  });
});

it('a task runs in no context of whoever set it off', async () => {
  const current = new AsyncLocalStorage<string>();
  const seen: Array<string | undefined> = [];
  const look = async () => {
    seen.push(current.getStore());
  };
  const slot = lanes.reserve('a');
  lanes.push('a', look);
  current.run('a stanza', () => lanes.fill(slot, look));
  await tick();
  expect(seen).toEqual([undefined, undefined]);
});

describe('side by side', () => {
  it('runs other lanes while one waits for a slot', async () => {
    lanes.reserve('a');
    lanes.push('a', task('a'));
    lanes.push('b', task('b'));
    await tick();
    expect(done).toEqual(['b']);
  });

  it('runs no more lanes at once than it may', async () => {
    const held = ['a', 'b', 'c'].map((name) => heldTask(name));
    for (const [index, { run }] of held.entries()) lanes.push(`lane ${index}`, run);
    await tick();
    expect(done).toEqual(['a starts', 'b starts']);
    held[0]?.letGo();
    await tick();
    expect(done).toContain('c starts');
  });
});

describe('the backlog', () => {
  it('counts what is ready and what runs, and tells when it is small again', async () => {
    const first = heldTask('first');
    lanes.push('a', first.run);
    lanes.push('a', task('second'));
    lanes.reserve('a');
    let isSmall = false;
    void lanes.below(2).then(() => {
      isSmall = true;
    });
    await tick();
    expect([lanes.backlog, isSmall]).toEqual([2, false]);
    first.letGo();
    await tick();
    expect([lanes.backlog, isSmall]).toEqual([0, true]);
  });

  it('does not count what waits behind an open slot', async () => {
    lanes.reserve('a');
    lanes.push('a', task('behind an open slot'));
    await lanes.below(1);
    expect([lanes.backlog, done]).toEqual([0, []]);
  });
});
