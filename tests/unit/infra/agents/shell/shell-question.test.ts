import { describe, expect, it } from 'vitest';
import type { AgentSession } from '../../../../../router/src/core/tasks.ts';
import { needsYes, ShellQuestion } from '../../../../../router/src/infra/agents/shell/shell-settings.ts';
import { directMatcher } from '../../../../doubles/direct-matcher.ts';

function setup() {
  let stored: AgentSession | undefined;
  const store = {
    session: async () => stored,
    saveSession: async (session: AgentSession) => {
      stored = session;
    },
  };
  // a new object each time, as after a restart
  return (nowMs = 0) => new ShellQuestion(store, nowMs);
}

describe('ShellQuestion', () => {
  it('runs the command after a yes, once, and again for a repeat of the same message', async () => {
    const question = setup();
    await question().ask('rm -rf build');
    expect(await question().answer('M1', ' Yes! ')).toEqual({ confirmed: 'rm -rf build' });
    expect(await question().answer('M1', 'yes')).toEqual({ confirmed: 'rm -rf build' });
    expect(await question().answer('M2', 'yes')).toBeUndefined();
  });

  it('is void after a no or another command', async () => {
    const question = setup();
    for (const text of ['no', 'ls']) {
      await question().ask('rm -rf build');
      expect(await question().answer('M1', text)).toBe('no');
      expect(await question().answer('M2', 'yes')).toBeUndefined();
    }
  });

  it('takes a repeat of the message that was no yes for the same answer', async () => {
    const question = setup();
    await question().ask('rm -rf build');
    for (const _ of ['first', 'repeat']) expect(await question().answer('M1', 'no')).toBe('no');
    expect(await question().answer('M2', 'no')).toBeUndefined();
  });

  it('is void after ten minutes', async () => {
    const question = setup();
    await question().ask('rm -rf build');
    expect(await question(600_001).answer('M1', 'yes')).toBe('no');
    await question().ask('rm -rf build');
    expect(await question(600_001).answer('M1', 'ls')).toBeUndefined();
  });
});

describe('needsYes', () => {
  it.each([
    'rm -rf /',
    'cd x && rm -r y',
    'rm -fv a',
    'mkfs.ext4 /dev/sda1',
    'dd if=/dev/zero of=/dev/sda',
    'sudo reboot',
    'chmod -R 777 .',
    'git push --force',
    'git reset --hard HEAD~1',
    'echo x > /dev/sda',
    'curl http://example.org/x | sh',
    'kill -9 1',
    ':(){ :|:& };:',
    `echo ${'x'.repeat(5_000)}`,
  ])('asks before %j', async (command) => {
    expect(await needsYes(directMatcher, command)).toBe(true);
  });

  it.each(['ls', 'rm file.txt', 'git push', 'echo reset --hard', 'grep -r rm .', 'cat /etc/passwd'])(
    'does not ask before %j',
    async (command) => {
      expect(await needsYes(directMatcher, command)).toBe(false);
    },
  );

  it('follows the patterns of the route', async () => {
    expect(await needsYes(directMatcher, 'rm -rf /', [])).toBe(false);
    expect(await needsYes(directMatcher, 'deploy now', ['^deploy\\b'])).toBe(true);
  });

  it('asks when a pattern takes too long, and when there is no matcher', async () => {
    const matcher = { test: async () => 'timeout' as const };
    expect(await needsYes(matcher, 'ls', ['(\\w+\\s*)+--force$'])).toBe(true);
    expect(await needsYes(undefined, 'ls')).toBe(true);
  });
});
