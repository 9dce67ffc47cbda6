import { describe, expect, it } from 'vitest';
import { shellProblems, shellSettings } from '../../../../../router/src/infra/agents/shell/shell-settings.ts';

describe('settings of a shell', () => {
  it('need at least one person', () => {
    expect(shellSettings.safeParse({ allow: [] }).success).toBe(false);
    expect(shellSettings.safeParse({}).success).toBe(false);
    expect(shellSettings.safeParse({ allow: ['5493777239922'] }).success).toBe(true);
  });

  it('are refused for everybody, and for what is no channelId', () => {
    expect(shellProblems({ allow: ['5493777239922', '*', 'me'] })).toEqual([
      { field: 'allow[1]', message: 'must name a person: a shell is never open to everybody' },
      { field: 'allow[2]', message: expect.stringContaining('is not a channelId') },
    ]);
  });

  it('name a pattern that is not valid', () => {
    expect(shellProblems({ allow: ['5493777239922'], confirm: ['rm', '('] })).toEqual([
      { field: 'confirm[1]', message: expect.stringMatching(/^it is not a valid pattern/) },
    ]);
  });
});
