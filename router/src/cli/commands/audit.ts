import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { EXIT } from '../exit-code.ts';
import { absoluteTime } from '../output/times.ts';
import { paged, showList, textOf } from './show-list.ts';

/** `wa2ai audit`: the audit log. */
export function addAudit(parent: Command, cli: Cli): void {
  const audit = parent.command('audit').description('read and check the audit log');
  paged(audit.command('list'))
    .description('list calls to wa2ai, newest first')
    .action(() =>
      showList(
        cli,
        '/api/audit',
        {},
        {
          SEQ: ({ seq }) => textOf(seq),
          TIME: ({ at }) => absoluteTime(String(at)),
          CALLER: ({ caller, keyId }) => textOf(keyId ?? caller),
          ACTION: ({ action }) => textOf(action),
          OBJECT: ({ object }) => textOf(object),
          OUTCOME: ({ outcome }) => textOf(outcome),
        },
      ),
    );
  audit
    .command('verify')
    .description('check that no entry of the audit log was changed or removed')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .option(
      '--earlier <seq:hash>',
      'the end of the log at an earlier check, which the log must still contain',
    )
    .action(async (address: string | undefined, { earlier }: { earlier?: string }, command: Command) => {
      const { runAuditTool } = await import('../../infra/faces/access/audit-tool.ts');
      const url = address ?? command.optsWithGlobals<{ url?: string }>().url;
      const args = [
        ...(url === undefined ? [] : [url]),
        ...(earlier === undefined ? [] : ['--earlier', earlier]),
        ...(cli.isJson ? ['--json'] : []),
      ];
      const { text, isGood } = await runAuditTool(['verify', ...args], cli.host.env);
      cli.host.write(`${text}\n`);
      cli.exitCode = isGood ? EXIT.success : EXIT.failed;
    });
}
