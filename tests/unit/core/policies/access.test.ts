import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accessPolicy } from '../../../../router/src/core/policies/access.ts';
import { type Access, conversationFields } from '../../../../router/src/core/policies/conversation-fields.ts';
import { decisionOf, turnView } from '../../../support/policies.ts';

const person = {
  id: 'W1',
  from: '5493777239922@s.whatsapp.net',
  fromLid: '123456789@lid',
  channelId: '5493777239922',
  text: 'hello',
  timestamp: new Date(0),
};
const group = '120363043211234567@g.us';

/** What is decided about a message to the chat, or of a member of a group. */
function decide(
  people: 'everyone' | 'listed' | 'approved',
  list: string[],
  access?: Access,
  { isGroup = false, askText }: { isGroup?: boolean; askText?: string } = {},
) {
  const channelIds = isGroup ? [group] : ['5493777239922', '123456789@lid'];
  const turn = { message: { ...person, isGroup }, channelIds, ...(access && { access }) };
  return decisionOf(accessPolicy(), turnView(turn, { access: { people, list, askText } }));
}

describe('the access policy', () => {
  it.each([
    ['everyone', [], undefined, 'continue', undefined],
    ['everyone', [], 'refused', 'continue', undefined],
    ['listed', [], 'approved', 'end', 'access-not-listed'],
    ['listed', ['+54 9 3777 239922'], undefined, 'continue', undefined],
    ['listed', ['+54 3777 239922'], undefined, 'continue', undefined],
    ['listed', ['123456789@lid'], undefined, 'continue', undefined],
    ['listed', ['5490000000000'], undefined, 'end', 'access-not-listed'],
    ['approved', ['5493777239922'], 'refused', 'continue', undefined],
    ['approved', [], 'approved', 'continue', undefined],
    ['approved', [], 'refused', 'end', 'access-refused'],
    ['approved', [], 'pending', 'end', 'access-pending'],
    ['approved', [], undefined, 'end', 'access-pending'],
  ] as const)('%s, list %j, chat %s: %s %s', async (people, list, access, kind, reason) => {
    const decision = await decide(people, [...list], access);
    expect(decision.kind).toBe(kind);
    expect(decision.kind === 'end' ? decision.reason : undefined).toBe(reason);
  });

  it('asks the owner once, and says the text of the settings then', async () => {
    const askText = 'I will be back soon.';
    const asking = await decide('approved', [], undefined, { askText });
    expect(asking).toMatchObject({ asksOwner: true, say: askText });
    const waiting = await decide('approved', [], 'pending', { askText });
    expect(waiting).not.toHaveProperty('asksOwner');
    expect(waiting).not.toHaveProperty('say');
  });

  it('answers nobody whom neither the list nor the owner allows', async () => {
    const address = fc.constantFrom('5493777239922', '123456789@lid', group, '5490000000000', '999@lid');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('listed' as const, 'approved' as const),
        fc.array(address, { maxLength: 4 }),
        fc.constantFrom<Access | undefined>('approved', 'refused', 'pending', undefined),
        fc.boolean(),
        async (people, list, access, isGroup) => {
          const own = isGroup
            ? [group, '5493777239922', '123456789@lid']
            : ['5493777239922', '123456789@lid'];
          const isAllowed =
            list.some((each) => own.includes(each)) || (people === 'approved' && access === 'approved');
          expect((await decide(people, list, access, { isGroup })).kind).toBe(isAllowed ? 'continue' : 'end');
        },
      ),
    );
  });

  it.each([
    ['the group', group],
    ['the member', '5493777239922'],
  ])('answers in a group when the list has %s', async (_, address) => {
    expect((await decide('listed', [address], undefined, { isGroup: true })).kind).toBe('continue');
    expect((await decide('listed', ['5490000000000'], undefined, { isGroup: true })).kind).toBe('end');
  });
});

describe('access.list', () => {
  it.each(['+54 9 3777 239922', '123@lid', group])('takes %s', (address) => {
    expect(conversationFields.access.safeParse({ list: [address] }).success).toBe(true);
  });

  it.each(['*', '', 'Ana', '0377'])('refuses "%s"', (address) => {
    expect(conversationFields.access.safeParse({ list: [address] }).success).toBe(false);
  });
});
