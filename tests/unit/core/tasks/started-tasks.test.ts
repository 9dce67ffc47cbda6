import { expect, it } from 'vitest';
import { StartedTasks } from '../../../../router/src/core/tasks.ts';

it('StartedTasks › gives every message to the listener, also those of before', () => {
  const started = new StartedTasks();
  const heard: string[] = [];
  started.add('1');
  started.listen((messageId) => heard.push(messageId));
  started.add('2');
  expect(heard).toEqual(['1', '2']);
});
