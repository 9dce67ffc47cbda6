import { describe, expect, it } from 'vitest';
import { AgentUnavailableError, Wa2aiError } from '../../../router/src/core/errors.ts';
import { pushUpdates } from '../../../router/src/features/a2a/push-updates.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { MemoryTaskHooks } from '../../doubles/memory-task-hooks.ts';
import { settle } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { serving } from '../../support/serving.ts';

async function setup() {
  const { clock, servedTasks, feed } = serving();
  const hooks = new MemoryTaskHooks(servedTasks);
  const message = { messageId: 'm', text: 'x' };
  await servedTasks.open({ id: 't1', contextId: 'c', owner: 'o', message });
  await hooks.put({ taskId: 't1', id: 'h1', url: 'https://example.com', version: '1.0' });
  const got: string[] = [];
  /** `failsOn`: only a request for this fails. */
  const revoked = new Set<string>();
  const receiver: { failure?: Error | undefined; failsOn?: string } = {};
  const start = (steps = new DirectSteps()) =>
    pushUpdates(
      {
        hooks,
        feed,
        clock,
        random: () => 1,
        mayReceive: async (owner) => !revoked.has(owner),
        log: quietLog,
        send: async (_hook, _task, { key }, part) => {
          const what = part === 'artifact' ? `${key} artifact` : key;
          if (receiver.failure && (receiver.failsOn ?? what) === what) throw receiver.failure;
          got.push(what);
        },
      },
      steps,
      { taskId: 't1', hookId: 'h1' },
    );
  const update = (key: string, state: 'working' | 'completed' = 'working') =>
    servedTasks.update('t1', { key, state });
  return { clock, servedTasks, hooks, got, receiver, revoked, start, update };
}

describe('pushUpdates', () => {
  it('sends each update in order until the task has ended', async () => {
    const { start, update, got } = await setup();
    await update('a');
    const end = start();
    await settle();
    expect(got).toEqual(['a']);
    await update('b');
    await update('end', 'completed');
    expect(await end).toEqual({ outcome: 'completed' });
    expect(got).toEqual(['a', 'b', 'end']);
  });

  it('continues after a crash where it was', async () => {
    const { start, update, got } = await setup();
    await update('a');
    const steps = new DirectSteps();
    const first = start(steps);
    await settle();
    steps.stop(new Error('stopping'));
    await expect(first).rejects.toThrow('stopping');
    await update('end', 'completed');
    expect(await start()).toEqual({ outcome: 'completed' });
    expect(got).toEqual(['a', 'end']);
  });

  it('tries again while the receiver is away, and gives up after a day', async () => {
    const { start, update, got, receiver, clock, hooks } = await setup();
    receiver.failure = new AgentUnavailableError({ sentence: 'away' });
    await update('a');
    const end = start();
    await clock.advanceMs(3_600_000);
    receiver.failure = undefined;
    await clock.advanceMs(600_000);
    expect(got).toEqual(['a']);
    receiver.failure = new AgentUnavailableError({ sentence: 'away' });
    await update('b');
    await clock.advanceMs(25 * 3_600_000);
    expect(await end).toEqual({ outcome: 'given up' });
    expect(await hooks.get('t1', 'h1')).toBeUndefined();
  });

  it('sends the result of an update once when the receiver does not take its state at first', async () => {
    const { start, servedTasks, got, receiver, clock } = await setup();
    receiver.failure = new AgentUnavailableError({ sentence: 'away' });
    receiver.failsOn = 'end';
    const artifact = { name: 'answer', text: 'Blue' };
    await servedTasks.update('t1', { key: 'end', state: 'completed', artifact });
    const end = start();
    await clock.advanceMs(10_000);
    expect(got).toEqual(['end artifact']);
    receiver.failure = undefined;
    await clock.advanceMs(600_000);
    expect(await end).toEqual({ outcome: 'completed' });
    expect(got).toEqual(['end artifact', 'end']);
  });

  it('sends nothing more to a program whose key was revoked', async () => {
    const { start, update, got, revoked, hooks } = await setup();
    await update('a');
    const end = start();
    await settle();
    revoked.add('o');
    await update('b');
    expect(await end).toEqual({ outcome: 'revoked' });
    expect(got).toEqual(['a']);
    expect(await hooks.get('t1', 'h1')).toBeUndefined();
  });

  it('gives up at once when no repeat helps, and ends when the hook is deleted', async () => {
    const refused = await setup();
    refused.receiver.failure = new Wa2aiError('X', 'dead', { sentence: 'refused' });
    await refused.update('a');
    expect(await refused.start()).toEqual({ outcome: 'given up' });
    const deleted = await setup();
    await deleted.hooks.delete('t1', 'h1');
    expect(await deleted.start()).toEqual({ outcome: 'deleted' });
  });
});
