import type { Command } from 'commander';
import type { AuditCheckpoint, VerifyReport } from '../../features/audit/verify-audit.ts';
import type { Cli } from '../cli.ts';
import { CliUsageError, EXIT } from '../exit-code.ts';
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
    .action(async (address: string | undefined, { earlier }: { earlier?: string }) => {
      const checkpoint = checkpointOf(earlier);
      const { verifyAudit } = await import('../../features/audit/verify-audit.ts');
      const api = await cli.api(address);
      const report = await verifyAudit({
        read: (path) => api.call('GET', path),
        ...(checkpoint && { earlier: checkpoint }),
      });
      if (!report.isIntact) cli.exitCode = EXIT.failed;
      cli.show(report, () => sentenceOf(report));
    });
}

function checkpointOf(text: string | undefined): AuditCheckpoint | undefined {
  if (text === undefined) return undefined;
  const [, seq, hash] = /^(\d{1,18}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: BigInt(seq), hash: hash.toLowerCase() };
  throw new CliUsageError('--earlier must be SEQ:HASH, as an earlier check printed it');
}

function sentenceOf({ isIntact, problem, entries, head, anchorSeq }: VerifyReport): string {
  if (!isIntact) return `The audit log is not intact. ${problem}`;
  const removed = anchorSeq === '0' ? '' : ` Retention removed entries 1 to ${anchorSeq}.`;
  const count = `${entries} ${entries === 1 ? 'entry' : 'entries'}`;
  return `The audit log is intact: ${count}.${removed}\nEnd: ${head.seq}:${head.hash}`;
}
