import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { quietLog } from '../support/quiet-log.ts';
import { runCrashes } from './crash-run.ts';
import { summary } from './summary.ts';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '25' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string' },
    long: { type: 'boolean', default: false },
    policies: { type: 'boolean', default: false },
    stream: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run test:crash -- [--messages 1000] [--kills 25] [--seed N] [--minutes M] [--long] [--policies] [--stream]
  Kills wa2ai with SIGKILL repeatedly, at random moments and at each fault point, while people write in many chats
  of the WhatsApp emulator, and checks what they saw. --long is 10,000 messages and 200 kills.
  --policies switches on every policy of a chat that lets the record decide what is right: lines in a row are one question,
  strangers wait for the owner, groups answer to a pattern, and sessions, quotas, reactions, quotes and notices are on.
  --stream shows each answer while its agent writes it: one message that grows by edits.`);
  process.exit(0);
}

let isPassed = false;
try {
  isPassed = await run();
} catch (error) {
  console.error(error);
}
// one test, in the form in which every test command of the project reports its counts
console.log(isPassed ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exitCode = isPassed ? 0 : 1;

async function run(): Promise<boolean> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-crash-'));
  const postgres = await startEmbeddedPostgres({ dataDir, log: quietLog });
  try {
    const report = await runCrashes({
      databaseUrl: postgres.url,
      messages: values.long ? 10_000 : Number(values.messages),
      kills: values.long ? 200 : Number(values.kills),
      seed: Number(values.seed),
      hasPolicies: values.policies,
      isStreamed: values.stream,
      minutes: values.minutes === undefined ? undefined : Number(values.minutes),
      onRun: ({ number, plan, end, readyMs, liveMs }, { said, answered }) =>
        console.log(
          `run ${number}: ${plan}, ended ${end}; ready ${readyMs ?? '-'} ms, live ${liveMs ?? '-'} ms; ${answered} of ${said} answered`,
        ),
    });
    console.log(`\n${summary(report)}`);
    for (const reported of [report.waits, report.traces]) if (reported) console.log(`\n${reported}\n`);
    return report.isPassed;
  } finally {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
