import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { change, findNamed, part, showList, showOne, textOf } from './show-list.ts';

/** `wa2ai agents`: agents that wa2ai runs. */
export function addAgents(parent: Command, cli: Cli): void {
  const agents = parent.command('agents').description('list, start and stop agents that wa2ai runs');
  const one = (name: string, description: string) =>
    agents.command(name).description(description).argument('<agent>', 'its id, or the start of it');
  agents
    .command('list')
    .description('list hosted agents with their states')
    .action(() =>
      showList(
        cli,
        '/api/agents',
        {},
        {
          AGENT: ({ id }) => textOf(id),
          STATUS: ({ status }) => textOf(status),
          ISOLATION: ({ isolation }) => (isolation === 'none' ? 'no isolation' : textOf(isolation)),
          NODE: ({ node }) => textOf(node),
          PROBLEM: ({ problem }) => textOf(problem),
        },
      ),
    );
  one('show', 'show a hosted agent').action(async (agent: string) => showOne(cli, await pathOf(agent)));
  one('start', 'start a hosted agent and wait until it answers').action(async (agent: string) =>
    change(cli, 'POST', `${await pathOf(agent)}/start`),
  );
  one('stop', 'stop a hosted agent').action(async (agent: string) =>
    change(cli, 'POST', `${await pathOf(agent)}/stop`),
  );
  one('logs', 'show the last lines that a hosted agent printed').action(async (agent: string) =>
    showOne(cli, `${await pathOf(agent)}/logs`),
  );

  async function pathOf(agent: string): Promise<string> {
    return `/api/agents/${part((await findNamed(cli, '/api/agents', agent)).id)}`;
  }
}
