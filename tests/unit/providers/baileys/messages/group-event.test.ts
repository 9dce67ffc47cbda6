import { describe, expect, it } from 'vitest';
import {
  groupEventText,
  isGroupEvent,
} from '../../../../../router/src/providers/baileys/messages/from-baileys.ts';

const ana = JSON.stringify({ id: '1@lid', phoneNumber: '5493777239922@s.whatsapp.net' });
const nameOf = (jids: unknown[]) => String(jids.find((jid) => jid !== undefined));

describe('groupEventText', () => {
  it.each<[number, unknown[], string | undefined]>([
    [27, [ana], 'added 1@lid'],
    [28, [ana, '{"id":"2@lid"}'], 'removed 1@lid, 2@lid'],
    [29, [ana], 'gave the rights of an admin to 1@lid'],
    [30, [ana], 'took the rights of an admin from 1@lid'],
    [31, [ana], 'joined the group by its link'],
    [32, [ana], 'left the group'],
    [21, ['Team'], 'named the group "Team"'],
    [27, ['3@s.whatsapp.net'], 'added 3@s.whatsapp.net'],
    [27, [], undefined],
    [26, ['on'], undefined],
    [0, [], undefined],
  ])('of event %i is the deed behind the name of its member', (stub, parameters, text) => {
    expect(groupEventText(stub, parameters, nameOf)).toBe(text);
    if (text !== undefined) expect(isGroupEvent(stub)).toBe(true);
  });

  it('is no event of a group for other stubs', () => {
    for (const stub of [0, 2, 26, 40, undefined, '27', {}]) expect(isGroupEvent(stub)).toBe(false);
  });

  it('is bounded', () => {
    expect(groupEventText(27, Array(300).fill(ana), nameOf)).toBe(`added ${'1@lid, '.repeat(10)}290 more`);
    expect(groupEventText(21, ['x'.repeat(9_000)], nameOf)?.length).toBeLessThan(250);
  });
});
