import { expect, it } from 'vitest';
import { HookStarter } from '../../../router/src/features/a2a/push-updates.ts';
import { quietLog } from '../../support/quiet-log.ts';

it('starts each hook under a different name, also those that a crash left', async () => {
  const started: string[] = [];
  const createdAt = new Date(5);
  const starter = new HookStarter({
    hooks: { behind: async () => [{ taskId: 'b', id: 'h', createdAt }] },
    tasks: { start: async (kind, id, input) => void started.push(`${kind} ${id} ${JSON.stringify(input)}`) },
    log: quietLog,
  });
  await starter.start({ taskId: 'a', id: 'h', createdAt });
  await starter.sweep(30_000);
  expect(started).toEqual([
    'push-updates push-a-5-h {"taskId":"a","hookId":"h"}',
    'push-updates push-b-5-h {"taskId":"b","hookId":"h"}',
  ]);
});
