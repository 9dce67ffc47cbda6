import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../router/src/core/access/caller.ts';
import { choosePerson } from '../../../router/src/features/tasks/serve-task.ts';
import { appWith } from '../../support/app-with.ts';

const ADMIN: Caller = { kind: 'admin-key' };
const appWhere = (account: object | undefined) =>
  appWith({
    accounts: { get: () => account as never },
    aliasesOf: async () => [],
    config: { accountId: 'main' },
  });
const app = appWhere(undefined);
const to = '+54 9 3777 239922';

describe('choosePerson', () => {
  it('names the chat in its stored form, on the own account by default', async () => {
    expect(await choosePerson(app, 'ask-person', { to }, ADMIN)).toEqual({
      accountId: 'main',
      to: '5493777239922',
    });
  });

  it.each([
    [{ to, accountId: 'other' }, 'accountId is not a WhatsApp account'],
    [{}, 'to must be one chat'],
    [{ to: '*' }, 'to must be one chat'],
    [{ to: 'x' }, 'to must be one chat'],
    [{ to: '120363000000000042@g.us' }, 'to must be a person'],
  ])('refuses %j', async (given, sentence) => {
    expect(await choosePerson(app, 'ask-person', given, ADMIN)).toEqual({
      problem: expect.stringContaining(sentence),
    });
  });

  it('messages groups', async () => {
    const group = '120363000000000042@g.us';
    expect(await choosePerson(app, 'message-person', { to: group }, ADMIN)).toMatchObject({ to: group });
  });

  it('refuses a chat that the key may not use', async () => {
    const caller = { kind: 'key', key: { chats: ['5490000000000'] } } as unknown as Caller;
    expect(await choosePerson(app, 'ask-person', { to }, caller)).toEqual({
      refusal: 'The key may not use this chat.',
    });
  });

  it('refuses an account that the key may not use in the same way whether it exists or not', async () => {
    const caller = { kind: 'key', key: { accounts: ['main'] } } as unknown as Caller;
    for (const each of [app, appWhere({})]) {
      expect(await choosePerson(each, 'ask-person', { to, accountId: 'other' }, caller)).toEqual({
        refusal: 'The key may not use this account.',
      });
    }
  });
});
