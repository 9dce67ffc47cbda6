import { expect, it } from 'vitest';
import { FAULT_POINTS } from '../../../router/src/config/config-fields.ts';
import { KillPlan, type RunPlan } from '../../crash/kill-plan.ts';
import { SeededRandom } from '../../crash/random.ts';

const plan = () => new KillPlan(new SeededRandom(7), 40);

/** Runs of a plan; `isReached` decides which reach their fault point. */
function live(kill: KillPlan, count: number, isReached: (run: RunPlan) => boolean): RunPlan[] {
  return Array.from({ length: count }, (_, index) => {
    const run = kill.next(index + 1);
    kill.ended(run, run.kind === 'fault' && isReached(run));
    return run;
  });
}

it('KillPlan ends 25 runs at every fault point, and at random moments between', () => {
  const kill = plan();
  const runs = live(kill, 25, () => true);
  expect([...kill.reached().keys()]).toEqual([...FAULT_POINTS]);
  expect(Math.min(...kill.reached().values())).toBeGreaterThanOrEqual(2);
  expect(runs.filter(({ kind }) => kind !== 'fault')).toHaveLength(8);
});

it('KillPlan retries a fault point that was not reached, with fewer passes each time', () => {
  const kill = plan();
  const runs = live(kill, 25, (run) => run.kind === 'fault' && run.fault.point !== 'after-decrypt');
  const passes = runs.flatMap((run) =>
    run.kind === 'fault' && run.fault.point === 'after-decrypt' ? [run.fault.pass] : [],
  );
  expect(passes.length).toBeGreaterThan(4);
  expect(Math.max(...passes.slice(4))).toBeLessThanOrEqual(3);
  expect(kill.reached().get('after-decrypt')).toBe(0);
});

it('KillPlan is the same for the same seed', () => {
  expect(live(plan(), 30, () => true)).toEqual(live(plan(), 30, () => true));
});
