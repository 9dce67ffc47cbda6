import { expect, it, onTestFinished, vi } from 'vitest';
import { createTasks, createWork } from '../../../router/src/app/api.ts';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { StartedTasks } from '../../../router/src/core/tasks.ts';
import type { Kernel, Service } from '../../../router/src/feature.ts';
import { a2a } from '../../../router/src/features/a2a/feature.ts';
import { tasks as tasksFeature } from '../../../router/src/features/tasks/feature.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { DbosTasks } from '../../../router/src/infra/engine/dbos-tasks.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/quiet-log.ts';

const MINUTE_MS = 60_000;

/** The part on a fake clock; `resumed` is what each search for unfinished tasks was given. */
function setup() {
  const clock = new FakeClock();
  const log = recordingLog();
  vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms, signal) => clock.sleep(ms, signal));
  const resumed: Array<(nodeId: string) => boolean> = [];
  const calls: string[] = [];
  vi.spyOn(DbosTasks.prototype, 'resume').mockImplementation(async (isGone) => {
    resumed.push(isGone);
    await settle();
    calls.push('resumed');
  });
  vi.spyOn(DbosTasks.prototype, 'stop').mockImplementation(async () => void calls.push('stopped'));
  const deaths: Array<() => void> = [];
  const placement = {
    isCoordinator: true,
    isExpired: (nodeId: string) => nodeId === 'dead',
    listen: (onDeath: () => void) => void deaths.push(onDeath),
  };
  const swept: number[] = [];
  const waited: number[] = [];
  const started: unknown[] = [];
  const away = { isAway: false };
  vi.spyOn(DbosTasks.prototype, 'start').mockImplementation(async (task) => {
    if (away.isAway) throw new StorageUnavailableError({ sentence: 'away' });
    started.push(task);
  });
  const remoteTasks = {
    unfollowed: async () => {
      swept.push(clock.now());
      return ['7'];
    },
    startedBy: async (messageId: string) => messageId,
  };
  const startedTasks = new StartedTasks();
  const given = {
    databaseUrl: 'postgres://127.0.0.1:1/none',
    postgres: {},
    nodeId: 'n1',
    bus: {},
    logOf: () => log,
    clock: systemClock,
    placement,
    startedTasks,
    remoteTasks,
    servedTasks: {
      waiting: async (waitedMs: number) => {
        waited.push(waitedMs);
        return [{ id: 's', round: 2 }];
      },
    },
    taskHooks: { behind: async () => [{ taskId: 's', id: 'h', createdAt: new Date(5) }] },
  };
  const tasks = createTasks(given as unknown as Kernel, {});
  const retention = { start: () => undefined, stop: async () => undefined };
  const service = { ...given, tasks } as unknown as Service;
  const part = createWork(service, tasks, [tasksFeature, a2a], retention);
  const start = async () => {
    await part.start();
    onTestFinished(() => part.stop());
  };
  return {
    part,
    start,
    clock,
    resumed,
    calls,
    placement,
    deaths,
    startedTasks,
    swept,
    waited,
    started,
    away,
    log,
  };
}

it('searches for unfinished tasks at the start without delaying it, then every minute', async () => {
  const { start, clock, resumed, calls } = setup();
  await start();
  expect(calls).toEqual([]);
  expect(resumed).toHaveLength(1);
  await settle();
  await clock.advanceMs(MINUTE_MS - 1);
  expect(resumed).toHaveLength(1);
  await clock.advanceMs(1);
  await settle();
  expect(resumed).toHaveLength(2);
});

it('searches again soon after a node has died, when it no longer looks alive', async () => {
  const { start, clock, resumed, deaths } = setup();
  await start();
  await settle();
  await settle();
  deaths[0]?.();
  await settle();
  expect(resumed).toHaveLength(1);
  await clock.advanceMs(3_000);
  await settle();
  expect(resumed).toHaveLength(2);
});

it('takes over the tasks of dead nodes only, and only as the coordinator of the nodes', async () => {
  const { start, resumed, placement } = setup();
  await start();
  const [isGone] = resumed;
  expect([isGone?.('dead'), isGone?.('n2')]).toEqual([true, false]);
  placement.isCoordinator = false;
  expect(isGone?.('dead')).toBe(false);
});

const FOLLOWED = ['3', '4', '7'].map((taskId) => ({
  kind: 'follow-task',
  id: `agent-task-${taskId}`,
  input: { taskId },
}));
const SERVED = { kind: 'serve-task', id: 'served-task-s-2', input: { taskId: 's' } };
const PUSHED = { kind: 'push-updates', id: 'push-s-5-h', input: { taskId: 's', hookId: 'h' } };

it('follows tasks of agents: those of turns that end here, and on the coordinator starts what nobody started', async () => {
  const { start, clock, placement, startedTasks, swept, waited, started } = setup();
  startedTasks.add('3');
  await start();
  startedTasks.add('4');
  for (let turn = 0; turn < 4; turn++) await settle();
  expect(started).toEqual([...FOLLOWED, SERVED, PUSHED]);
  await clock.advanceMs(MINUTE_MS);
  for (let turn = 0; turn < 4; turn++) await settle();
  expect(waited).toEqual([0, 30_000]);
  expect(started).toHaveLength(5);
  placement.isCoordinator = false;
  await clock.advanceMs(MINUTE_MS);
  await settle();
  expect(swept).toHaveLength(2);
});

it('starts the tasks later when the database does not answer', async () => {
  const { start, clock, startedTasks, started, away, log } = setup();
  away.isAway = true;
  startedTasks.add('3');
  await start();
  for (let turn = 0; turn < 4; turn++) await settle();
  expect(started).toEqual([]);
  expect(log.lines.map(({ message }) => message)).toEqual([
    'cannot follow the task of an agent, retrying',
    'cannot start open tasks, retrying',
    'cannot start open tasks, retrying',
  ]);
  away.isAway = false;
  await clock.advanceMs(MINUTE_MS);
  for (let turn = 0; turn < 4; turn++) await settle();
  expect(started).toEqual([FOLLOWED[2], SERVED, PUSHED]);
});

it('ends a search before it disconnects, and searches no more', async () => {
  const { part, clock, resumed, calls } = setup();
  await part.start();
  await part.stop();
  expect(calls).toEqual(['resumed', 'stopped']);
  await clock.advanceMs(10 * MINUTE_MS);
  expect(resumed).toHaveLength(1);
});

it('can be stopped when it was not started', async () => {
  const { part, calls } = setup();
  await part.stop();
  expect(calls).toEqual(['stopped']);
});
