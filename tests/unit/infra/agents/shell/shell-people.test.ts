import { describe, expect, it } from 'vitest';
import { mayUseShell } from '../../../../../router/src/infra/agents/shell/shell-agent-client.ts';

const from = '5493777239922@s.whatsapp.net';
const channelId = '5493777239922';

describe('mayUseShell', () => {
  it('allows a person by number and by LID, however the number is written', () => {
    expect(mayUseShell(['+54 9 3777 23-9922'], { from, channelId })).toBe(true);
    expect(mayUseShell(['77@lid'], { from, fromLid: '77@lid', channelId })).toBe(true);
    expect(mayUseShell(['77@lid'], { from: '77@lid', channelId: '77@lid' })).toBe(true);
  });

  it('refuses everybody else, also by a wildcard', () => {
    for (const allow of [['5493777239923'], ['*'], ['77@lid'], []]) {
      expect(mayUseShell(allow, { from, channelId })).toBe(false);
    }
  });

  it('needs both the person and the group in a group', () => {
    const group = '120363001122334455@g.us';
    const inGroup = { from, channelId: group, isGroup: true };
    expect(mayUseShell([channelId], inGroup)).toBe(false);
    expect(mayUseShell([group], inGroup)).toBe(false);
    expect(mayUseShell([group, channelId], inGroup)).toBe(true);
  });
});
