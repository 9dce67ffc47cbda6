import { expect, it } from 'vitest';
import { AdkState } from '../../../../../router/src/infra/agents/adk/adk-run.ts';

/** Work that ends when `finish` is called. */
function openWork(name: string, events: string[]) {
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const work = async () => {
    events.push(`${name} begins`);
    await ended;
    events.push(`${name} ends`);
  };
  return { work, finish };
}

it('runs the work of a session one after another, and that of other sessions at once', async () => {
  const state = new AdkState();
  const events: string[] = [];
  const [first, second, other] = ['first', 'second', 'other'].map((name) => openWork(name, events));
  const runs = [first, second].map((open) => state.runAlone('s', undefined, open?.work ?? Promise.reject));
  other?.finish();
  await state.runAlone('t', undefined, other?.work ?? Promise.reject);
  expect(events).toEqual(['first begins', 'other begins', 'other ends']);
  first?.finish();
  second?.finish();
  await Promise.all(runs);
  expect(events.slice(3)).toEqual(['first ends', 'second begins', 'second ends']);
});

it('ends a wait at an abort, and then never begins the work', async () => {
  const state = new AdkState();
  const events: string[] = [];
  const first = openWork('first', events);
  const late = openWork('late', events);
  const running = state.runAlone('s', undefined, first.work);
  const stop = new AbortController();
  const waiting = state.runAlone('s', stop.signal, late.work);
  stop.abort(new Error('stopping'));
  await expect(waiting).rejects.toThrow('stopping');
  await expect(state.runAlone('s', stop.signal, late.work)).rejects.toThrow('stopping');
  first.finish();
  await running;
  await state.runAlone('s', undefined, async () => void events.push('next'));
  expect(events).toEqual(['first begins', 'first ends', 'next']);
});
