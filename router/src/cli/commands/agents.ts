import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { change, part, showList, showOne, textOf } from './show-list.ts';

/** `wa2ai agents`: agents that wa2ai runs. */
export function addAgents(parent: Command, cli: Cli): void {
  const agents = parent.command('agents').description('list, start and stop agents that wa2ai runs');
  const one = (name: string, description: string) =>
    agents.command(name).description(description).argument('<agent>', 'id of the agent');
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
  one('show', 'show a hosted agent').action((id: string) => showOne(cli, `/api/agents/${part(id)}`));
  one('start', 'start a hosted agent and wait until it answers').action((id: string) =>
    change(cli, 'POST', `/api/agents/${part(id)}/start`),
  );
  one('stop', 'stop a hosted agent').action((id: string) =>
    change(cli, 'POST', `/api/agents/${part(id)}/stop`),
  );
  one('logs', 'show the last lines that a hosted agent printed').action((id: string) =>
    showOne(cli, `/api/agents/${part(id)}/logs`),
  );
}
