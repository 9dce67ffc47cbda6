import { describe, expect, it } from 'vitest';
import { Cli } from '../../../router/src/cli/cli.ts';
import { descendantsOf, pathOf } from '../../../router/src/cli/completion/completion-for.ts';
import { createProgram } from '../../../router/src/cli/program.ts';
import { hostOf, runWa2ai } from '../../support/cli.ts';
import { readDocument } from '../../support/documents.ts';

const program = createProgram(new Cli(hostOf().host));
const commands = descendantsOf(program);
const page = readDocument('docs/cli.md');

describe('every command of wa2ai', () => {
  it.each(commands.map(pathOf))('is in docs/cli.md: %s', (path) => {
    expect(page).toMatch(new RegExp(`\`${path}\\b`));
  });

  it.each(commands.map(pathOf))('shows its help: %s', async (path) => {
    const { code, output, errors } = await runWa2ai([...path.split(' ').slice(1), '--help']);
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain(path);
  });

  it.each(commands.filter((command) => command.commands.length === 0).map(pathOf))(
    'shows an example of itself: %s',
    async (path) => {
      const { output } = await runWa2ai([...path.split(' ').slice(1), '--help']);
      expect(output.slice(output.indexOf('\nExample'))).toContain(
        `\n  ${path === 'wa2ai completion' ? 'source <(' : ''}${path}`,
      );
    },
  );

  it('has a description of one line, in small letters', () => {
    for (const command of commands) expect(command.description()).toMatch(/^[a-z][^\n]{5,110}$/);
  });
});
