import { expect, it } from 'vitest';
import { type Change, Changes } from '../../../../router/src/core/live/live-event.ts';

it('Changes › passes reports on only while somebody listens', () => {
  const changes = new Changes();
  const heard: Change[] = [];
  changes.onReport((change) => heard.push(change));
  changes.report({ type: 'message', id: '1' });
  changes.setWanted(true);
  expect(changes.isWanted).toBe(true);
  changes.report({ type: 'message', id: '2' });
  changes.setWanted(false);
  changes.report({ type: 'message', id: '3' });
  expect(heard).toEqual([{ type: 'message', id: '2' }]);
});
