import { describe, expect, it } from 'vitest';
import { say } from '../../../../../router/src/core/phrases.ts';
import { shellProblems, shellSettings } from '../../../../../router/src/infra/agents/shell/shell-settings.ts';

describe('settings of a shell', () => {
  it('need at least one person', () => {
    expect(shellSettings.safeParse({ allow: [] }).success).toBe(false);
    expect(shellSettings.safeParse({}).success).toBe(false);
    expect(shellSettings.safeParse({ allow: ['5493777239922'] }).success).toBe(true);
  });

  it('are refused for everybody, and for what is no channelId', () => {
    expect(shellProblems({ allow: ['5493777239922', '*', 'me'] })).toEqual([
      { field: 'allow[1]', said: say('field.some-person') },
      { field: 'allow[2]', said: say('field.not-channel-id') },
    ]);
  });

  it('name a pattern that is not valid', () => {
    expect(shellProblems({ allow: ['5493777239922'], confirm: ['rm', '('] })).toMatchObject([
      { field: 'confirm[1]', said: { sentence: expect.stringMatching(/^is not a valid pattern/) } },
    ]);
  });
});
