import { expect, it } from 'vitest';
import { waitSeconds, withProgress } from '../../../router/src/features/mcp/ask-person.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('shows every five seconds how long work has waited, and nothing after its end', async () => {
  const clock = new FakeClock();
  const shown: unknown[] = [];
  const progress = (...args: unknown[]) => void shown.push(args);
  let end: (result: string) => void = () => undefined;
  const waiting = withProgress(clock, 60, { progress }, (show) => {
    show('begun');
    return new Promise<string>((resolve) => {
      end = resolve;
    });
  });
  await clock.advanceMs(5_000);
  await clock.advanceMs(5_000);
  end('done');
  expect(await waiting).toBe('done');
  await clock.advanceMs(60_000);
  expect(shown).toEqual([
    [0, 60, 'begun'],
    [5, 60, undefined],
    [10, 60, undefined],
  ]);
  expect(clock.sleeping).toBe(0);
});

it('waits by default shorter than a client does', () => {
  expect(waitSeconds().parse(undefined)).toBe(50);
  expect(waitSeconds({ max: 300, byDefault: 0 }).parse(undefined)).toBe(0);
  expect(waitSeconds().safeParse(601).success).toBe(false);
});
