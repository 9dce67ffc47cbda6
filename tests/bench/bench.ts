import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machine } from './ground.ts';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
    counted: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    soak: { type: 'string' },
    abi: { type: 'boolean', default: false },
    agents: { type: 'boolean', default: false },
    host: { type: 'boolean', default: false },
    backup: { type: 'boolean', default: false },
    console: { type: 'boolean', default: false },
    policies: { type: 'boolean', default: false },
    image: { type: 'string', default: 'chat-node:1' },
    nodes: { type: 'string' },
    json: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    messages: { type: 'string' },
    'memory-messages': { type: 'string', default: '15000' },
    idle: { type: 'string', default: '30' },
    turns: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '100000' },
    help: { type: 'boolean', default: false },
  },
});

const MESSAGES = '1500';

const HELP = `npm run bench -- [--check] [--write-docs] [--json FILE]
  wa2ai beside a bare Baileys bot that stores nothing, through the WhatsApp emulator and the same agent: round trips, highest
  rate, processor time, memory, start, recovery, several nodes, large tables. Medians of --rounds (3) interleaved rounds.
  --check       ends with exit code 1 when a target is missed
  --write-docs  writes docs/images/performance.json and .svg, and the table in docs/performance.md
  --json FILE   writes the results
  Size: --seconds 20 --messages 1500 --memory-messages 15000 --idle 30 --turns 10000 --rows 100000
npm run bench -- --counted
  Statements, commits, bytes written and allocations per message, timers and statements of an idle minute, loaded modules,
  beside tests/bench/budgets.json. The numbers do not depend on the machine. Two minutes.
npm run bench -- --profile [--seconds 20]
  Processor time by package and function, statements per message, one message step by step, memory by kind.
npm run bench -- --soak 30m
  Messages for that long, with retention on: memory, open files, size of the database and p99 must stay the same.
npm run bench -- --nodes 1,2,3 [--messages 1500] [--seconds 20] [--rounds 10]
  Messages a second and round trips by number of nodes, with one account and with three; how long a take-over takes.
npm run bench -- --policies [--rounds 5] [--messages 400]
  What the policies of a chat add to a message at their defaults: a service with them beside one without any, at the same time.
npm run bench -- --abi
  Encodings and decodings a second beside bare viem, and what the ABI client adds to a bare fetch.
npm run bench -- --agents [--rounds 5] [--write-docs] [--json FILE]
  What the client of each agent kind adds to the median round trip, beside a bare fetch; tasks a second and the delay of
  events of the NPC server, beside a bare server of Express and the A2A SDK. Medians of the rounds. Ends with exit code 1 when a
  target is missed.
npm run bench -- --backup
  Time, memory and size of wa2ai backup and restore: 20,000 messages and replies with 50 MB of files, and ten times as much.
npm run bench -- --console [--rounds 5] [--idle 30]
  The console in Chromium: weight of the first view, time until its numbers are shown on a processor 4 times slower, time from
  an event to the screen, processor time of a node with 50 idle consoles.
npm run bench -- --host [--rounds 5] [--idle 30] [--image chat-node:1]
  Hosted agents as processes, and as containers when an engine answers: time from a message to the answer of an agent that is
  stopped or never ran, what wa2ai adds to a message, processor time of an idle node. --image: examples/agents/chat-node.
  Commands a second in a session of the shell runtime, beside a bare terminal. Medians of the rounds. Ends with exit code 1
  when a target is missed.`;

const number = (text: string): number => {
  const value = Number(text.replace(/m$/, ''));
  if (!(value > 0)) throw new Error(`${text} is not a number above 0`);
  return value;
};

if (!values.help) {
  const { node, processor, cores, load } = machine();
  console.log(
    `Node ${node}, ${cores} x ${processor}, load ${load}. Emulator, agent and load share the machine.`,
  );
}
process.exitCode = (await run()) ? 0 : 1;
// the emulator's people keep the process alive
process.exit();

/** @returns whether the requested checks passed */
async function run(): Promise<boolean> {
  if (values.help) {
    console.log(HELP);
    return true;
  }
  if (values.counted) {
    const { checkCounts } = await import('./counted.ts');
    const { passed, failed } = await checkCounts();
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0;
  }
  if (values.profile) {
    const { profile } = await import('./profile.ts');
    await profile(number(values.seconds));
    return true;
  }
  if (values.soak !== undefined) {
    const { soak } = await import('./soak.ts');
    return await soak(number(values.soak));
  }
  if (values.abi) {
    const { benchAbi } = await import('./abi-bench.ts');
    await benchAbi();
    return true;
  }
  if (values.agents) {
    const { benchAgents } = await import('./agents-bench.ts');
    const { agentRows, agentsText, writeAgentsDocs } = await import('./agents-report.ts');
    const results = await benchAgents(number(values.rounds ?? '5'));
    console.log(agentsText(results));
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
    if (values['write-docs']) writeAgentsDocs(results);
    return agentRows(results).every(({ isMet }) => isMet);
  }
  if (values.backup) {
    const { benchBackup } = await import('./backup-bench.ts');
    await benchBackup([
      { messages: 10_000, mediaMb: 50 },
      { messages: 100_000, mediaMb: 500 },
    ]);
    return true;
  }
  if (values.host) {
    const { benchHost } = await import('./host-bench.ts');
    const { hostRows, hostText } = await import('./host-report.ts');
    const { benchShell, shellText } = await import('./shell-bench.ts');
    const rounds = number(values.rounds ?? '5');
    const hosts = await benchHost({ rounds, idleSeconds: number(values.idle), image: values.image });
    console.log(`${hostText(hosts)}\n`);
    console.log(shellText(await benchShell(rounds)));
    return hostRows(hosts).every(({ isMet }) => isMet);
  }
  if (values.console) {
    const { benchConsole, consoleText } = await import('./console-bench.ts');
    console.log(consoleText(await benchConsole(number(values.rounds ?? '5'), number(values.idle))));
    return true;
  }
  if (values.policies) {
    const { benchPolicies } = await import('./policies-bench.ts');
    await benchPolicies(number(values.rounds ?? '5'), number(values.messages ?? '400'));
    return true;
  }
  if (values.nodes !== undefined) {
    const { benchNodes } = await import('./nodes-bench.ts');
    await benchNodes({
      counts: values.nodes.split(',').map(number),
      messages: number(values.messages ?? MESSAGES),
      seconds: number(values.seconds),
      rounds: number(values.rounds ?? '10'),
    });
    return true;
  }
  return await runComparison();
}

async function runComparison(): Promise<boolean> {
  const { compare } = await import('./compare.ts');
  const { terminalTable, writeDocs, writeResults } = await import('./report.ts');
  const { judge } = await import('./targets.ts');
  const results = await compare({
    rounds: number(values.rounds ?? '3'),
    seconds: number(values.seconds),
    messages: number(values.messages ?? MESSAGES),
    memoryMessages: number(values['memory-messages']),
    idle: number(values.idle),
    turns: number(values.turns),
    rows: number(values.rows),
  });
  console.log(`\n${terminalTable(results)}`);
  if (values.json !== undefined) writeResults(values.json, results);
  if (values['write-docs']) writeDocs(results);
  return !values.check || judge(results.measured).every(({ isMet }) => isMet);
}
