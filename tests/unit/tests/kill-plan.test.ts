import { expect, it } from 'vitest';
import { FAULT_POINTS } from '../../../router/src/app/fault-points.ts';
import { KillPlan, type LifePlan } from '../../crash/kill-plan.ts';
import { SeededRandom } from '../../crash/random.ts';

const plan = () => new KillPlan(new SeededRandom(7), 40);

/** Lives whose outcome is told by `isReached`. */
function live(kill: KillPlan, count: number, isReached: (life: LifePlan) => boolean): LifePlan[] {
  return Array.from({ length: count }, (_, index) => {
    const life = kill.next(index + 1);
    kill.ended(life, life.kind === 'fault' && isReached(life));
    return life;
  });
}

it('ends lives at every fault point within 25, and at random moments between', () => {
  const kill = plan();
  const lives = live(kill, 25, () => true);
  expect([...kill.reached().keys()]).toEqual([...FAULT_POINTS]);
  expect(Math.min(...kill.reached().values())).toBeGreaterThanOrEqual(2);
  expect(lives.filter(({ kind }) => kind !== 'fault')).toHaveLength(8);
});

it('comes back to a fault point that was not reached, with ever fewer passes', () => {
  const kill = plan();
  const lives = live(kill, 25, (life) => life.kind === 'fault' && life.fault.point !== 'after-decrypt');
  const passes = lives.flatMap((life) =>
    life.kind === 'fault' && life.fault.point === 'after-decrypt' ? [life.fault.pass] : [],
  );
  expect(passes.length).toBeGreaterThan(4);
  expect(Math.max(...passes.slice(4))).toBeLessThanOrEqual(3);
  expect(kill.reached().get('after-decrypt')).toBe(0);
});

it('is the same for the same seed', () => {
  expect(live(plan(), 30, () => true)).toEqual(live(plan(), 30, () => true));
});
