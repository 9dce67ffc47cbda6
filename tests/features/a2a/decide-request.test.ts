import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../router/src/core/access/caller.ts';
import { decideRequest } from '../../../router/src/features/a2a/a2a-handler.ts';
import { MemoryRouteStore } from '../../doubles/memory-route-store.ts';
import { appWith } from '../../support/app-with.ts';
import { aNewRoute } from '../../support/routes.ts';

const owner = { caller: { kind: 'admin-key' } as Caller, userName: 'admin' };

async function setup(names: readonly string[] = []) {
  const routes = new MemoryRouteStore();
  for (const name of names) {
    await routes.create(aNewRoute({ name, config: { shared: true } }));
  }
  const app = appWith({
    routes,
    accounts: { get: () => undefined },
    aliasesOf: async (_accountId: string, channelId: string) => [channelId],
    config: { accountId: 'default', environment: 'lab' },
  });
  return (input: Parameters<typeof decideRequest>[1], contextId = 'c1', by = owner) =>
    decideRequest(app, input, contextId, by);
}

describe('decideRequest', () => {
  it('gives a message without a skill to the only shared route, in one conversation for each owner and context', async () => {
    const decide = await setup(['Guide']);
    const first = await decide({ text: 'Hello' });
    expect(first).toMatchObject({ request: { skill: 'talk-to-route', text: 'Hello' } });
    const sessions = await Promise.all([
      decide({ text: 'Hello' }),
      decide({ text: 'Hello' }, 'c2'),
      decide({ text: 'Hello' }, 'c1', { ...owner, userName: 'k1' }),
    ]);
    expect(new Set(sessions.map((decision) => JSON.stringify(decision))).size).toBe(3);
    expect(sessions[0]).toEqual(first);
  });

  it('asks for a skill when several fit', async () => {
    const decide = await setup(['Guide', 'Shop']);
    expect(await decide({ text: 'Hello' })).toMatchObject({
      update: {
        state: 'input-required',
        text: expect.stringMatching(/message-person, ask-person, talk-to-/),
      },
    });
  });

  it.each([
    [{ skill: 'fly', text: 'x' }, 'There is no skill "fly"'],
    [{ skill: 'ask-person', to: '5493777239922', text: ' ' }, 'text is missing'],
    [{ skill: 'ask-person', to: '*', text: 'x' }, 'to must be one chat'],
    [{ skill: 'ask-person', to: '120363041234567890@g.us', text: 'x' }, 'a group cannot be asked'],
    [{ skill: 'message-person', to: '5493777239922', accountId: 'other', text: 'x' }, 'accountId is not'],
  ])('refuses %o', async (input, sentence) => {
    const decide = await setup();
    await expect(decide(input)).rejects.toThrow(sentence);
  });

  it('gives a question a day, and a message an hour', async () => {
    const decide = await setup();
    const to = '5493777239922';
    expect(await decide({ skill: 'ask-person', to, text: 'Which?' })).toEqual({
      request: { skill: 'ask-person', accountId: 'default', to, text: 'Which?', deadlineMinutes: 1_440 },
    });
    expect(await decide({ skill: 'message-person', to, text: 'Hi', deadlineMinutes: 5 })).toMatchObject({
      request: { deadlineMinutes: 5 },
    });
    expect(await decide({ skill: 'message-person', to, text: 'Hi' })).toMatchObject({
      request: { deadlineMinutes: 60 },
    });
  });
});
