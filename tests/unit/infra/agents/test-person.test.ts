import { expect, it } from 'vitest';
import { newTestPerson } from '../../../../router/src/infra/agents/test-person.ts';

it('newTestPerson writes messages of one new person, each with its own id', () => {
  const [ana, bo] = [newTestPerson(), newTestPerson()];
  const [first, second] = [ana.says('one'), ana.says('two')];
  expect(first).toMatchObject({ text: 'one', from: `${first.channelId}@s.whatsapp.net` });
  expect(second.from).toBe(first.from);
  expect(second.id).not.toBe(first.id);
  expect(bo.says('one').from).not.toBe(first.from);
});
