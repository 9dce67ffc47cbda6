import type { Command } from 'commander';

const VERBS = {
  test: 'call an agent once',
  inspect: 'show what an agent says about itself',
  check: 'check what wa2ai needs from an agent',
};

/** Describes `wa2ai agent` for help and completion. run-cli.ts runs it, because agent kinds add options to it. */
export function addAgent(parent: Command): void {
  const agent = parent.command('agent').description('test, inspect or check an agent without wa2ai running');
  for (const [verb, description] of Object.entries(VERBS)) {
    agent
      .command(verb)
      .description(description)
      .argument('<url>', 'URL of the agent')
      .option('--kind <kind>', 'protocol of the agent; default: detected')
      .option('--timeout <ms>', 'longest wait for one answer; default: 30000');
  }
}
