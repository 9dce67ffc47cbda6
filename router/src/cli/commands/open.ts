import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';

/** `wa2ai open`: the pages of wa2ai in a browser. */
export function addOpen(parent: Command, cli: Cli): void {
  parent
    .command('open')
    .description('print the address of the pages of wa2ai and open it in a browser')
    .action(async () => {
      const { data } = await (await cli.api()).call<{
        data: ReadonlyArray<{ isSelf: boolean; url: string }>;
      }>('GET', '/api/nodes');
      const { url: given } = cli.target;
      const url = given ?? data.find(({ isSelf }) => isSelf)?.url ?? '';
      cli.show({ url }, () => url);
      if (cli.host.isTerminal && !cli.isJson) openBrowser(url);
    });
}

/** A machine without a browser is no failure: the address is printed. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
  child.once('error', () => undefined);
  child.unref();
}
