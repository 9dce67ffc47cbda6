import { expect, it } from 'vitest';
import { attemptStore } from '../../../../router/src/core/turns/attempt-store.ts';
import { MemoryRemoteTasks } from '../../../doubles/memory-remote-tasks.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { npcMessage } from '../../../support/npc.ts';

it('attemptStore › stores tasks of one message, and the session of its person at one route', async () => {
  const remoteTasks = new MemoryRemoteTasks(new MemoryState());
  const turn = { messageId: '1', accountId: 'main', message: npcMessage('hi') };
  const store = attemptStore(remoteTasks, { id: 'route' }, turn);
  await store.addTask('t1');
  expect(await store.tasks()).toEqual([{ remoteId: 't1', isOpen: true }]);
  expect(await store.knownTasks(['t1', 't2'])).toEqual(['t1']);
  expect(await attemptStore(remoteTasks, { id: 'other' }, turn).tasks()).toEqual([]);
  await store.saveSession({ contextId: 'c' });
  expect(await store.session()).toEqual({ contextId: 'c' });
  const inGroup = { ...turn, message: npcMessage('hi', { channelId: '120363000000000000@g.us' }) };
  expect(await attemptStore(remoteTasks, { id: 'route' }, inGroup).session()).toBeUndefined();
});
