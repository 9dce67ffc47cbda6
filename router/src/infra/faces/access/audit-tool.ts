import { parseArgs } from 'node:util';
import { ToolUsageError } from '../../agents/agent-tools.ts';
import { keyOfEnvironment } from './key-of-environment.ts';
import { type AuditCheckpoint, type VerifyReport, verifyAudit } from './verify-audit.ts';

export const AUDIT_HELP = `wa2ai audit verify [URL] [options]

Reads the audit log of the running wa2ai at URL (default: http://127.0.0.1 with
the port of WA2AI_PORT, or 3000) and checks that no entry was changed or removed.
The key is that of WA2AI_API_KEY or WA2AI_API_KEY_FILE: the admin key, or a key
with the scope admin.

  --earlier SEQ:HASH  the end of the log at an earlier check, which the log must
                      still contain
  --json              the result as JSON`;

type Env = Record<string, string | undefined>;

/**
 * Runs `wa2ai audit ...`.
 * @param args what follows `audit`
 * @returns what to print, and whether the log is intact
 * @throws {ToolUsageError} wrong arguments
 * @throws {AuditUnreadableError}
 */
export async function runAuditTool(
  args: readonly string[],
  env: Env,
): Promise<{ text: string; isGood: boolean }> {
  const { values, positionals } = argumentsOf(args);
  const [verb, url = `http://127.0.0.1:${env.WA2AI_PORT || 3000}`, more] = positionals;
  if (values.help) return { text: AUDIT_HELP, isGood: true };
  if (verb !== 'verify') throw new ToolUsageError('the only command of audit is verify');
  if (more !== undefined) throw new ToolUsageError(`unexpected argument "${more}"`);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new ToolUsageError('the URL of wa2ai must begin with http:// or https://');
  }
  const report = await verifyAudit({
    url,
    key: keyOfEnvironment(env),
    earlier: checkpointOf(values.earlier),
  });
  return { text: values.json ? JSON.stringify(report, null, 2) : textOf(report), isGood: report.isIntact };
}

function argumentsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        earlier: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    // The first sentence says what is wrong; the others suggest workarounds.
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new ToolUsageError(sentence);
  }
}

function checkpointOf(text: string | undefined): AuditCheckpoint | undefined {
  if (text === undefined) return undefined;
  const [, seq, hash] = /^(\d{1,18}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: BigInt(seq), hash: hash.toLowerCase() };
  throw new ToolUsageError('--earlier must be SEQ:HASH, as an earlier check printed it');
}

function textOf({ isIntact, problem, entries, head, anchorSeq }: VerifyReport): string {
  if (!isIntact) return `The audit log is not intact. ${problem}`;
  const removed = anchorSeq === '0' ? '' : ` Retention removed entries 1 to ${anchorSeq}.`;
  const count = `${entries} ${entries === 1 ? 'entry' : 'entries'}`;
  return `The audit log is intact: ${count}.${removed}\nEnd: ${head.seq}:${head.hash}`;
}
