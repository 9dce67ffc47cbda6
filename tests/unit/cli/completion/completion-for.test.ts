import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runWa2ai } from '../../../support/cli.ts';

const hasShell = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

/** What bash offers after the words. */
function bashWords(script: string, words: readonly string[]): string[] {
  const program = `${script}
COMP_WORDS=(wa2ai ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_wa2ai
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-u', '-c', program], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter(Boolean);
}

describe('wa2ai completion', () => {
  it('offers commands, their commands and their options in bash', async () => {
    const { output } = await runWa2ai(['completion', 'bash']);
    expect(bashWords(output, ['sta'])).toEqual(['start', 'status']);
    expect(bashWords(output, ['audit', 'v'])).toEqual(['verify']);
    expect(bashWords(output, ['--json', 'audit', 'verify', '--e'])).toEqual(['--earlier']);
    expect(bashWords(output, ['completion', 'z'])).toEqual(['zsh']);
    expect(bashWords(output, ['status', '--js'])).toEqual(['--json']);
  });

  it('offers the values of options, until one is there', async () => {
    const { output } = await runWa2ai(['completion', 'bash']);
    const script = `wa2ai() { echo "$2s-of-the-service"; }\n${output}`;
    expect(bashWords(script, ['logs', '--level', 'w'])).toEqual(['warn']);
    expect(bashWords(script, ['logs', '--level', 'warn', '--fol'])).toEqual(['--follow']);
    expect(bashWords(script, ['logs', '--follow', '--account', ''])).toEqual(['accounts-of-the-service']);
    expect(bashWords(script, ['messages', '--chat', 'ch'])).toEqual(['chats-of-the-service']);
    expect(bashWords(script, ['chats', 'list', '--route', 'r'])).toEqual(['routes-of-the-service']);
    expect(bashWords(script, ['send', 'ch'])).toEqual(['chats-of-the-service']);
  });

  it.each(['zsh', 'fish'] as const)('writes a script that %s reads', async (shell) => {
    const { code, output } = await runWa2ai(['completion', shell]);
    expect(code).toBe(0);
    expect(output).toContain('verify');
    if (!hasShell(shell)) return;
    const { status, stderr } = spawnSync(shell, ['-n'], { input: output, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('refuses another shell', async () => {
    expect((await runWa2ai(['completion', 'tcsh'])).code).toBe(2);
  });
});
