import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { visible } from '../output/visible-text.ts';
import { part } from './show-list.ts';

interface Side {
  headers: Record<string, string>;
  body?: string;
  bytes?: number;
}

interface Exchange {
  attempt?: number;
  at: string;
  ms?: number;
  request: Side & { method: string; url: string };
  response?: Side & { status: number };
  fault?: string;
}

/** `wa2ai exchanges`: what was sent to agents for a message, and what came back. */
export function addExchanges(parent: Command, cli: Cli): void {
  parent
    .command('exchanges')
    .description('show what was sent to agents for a message, and what came back, without secrets')
    .argument('<message>', 'id of a message received, as `wa2ai messages` shows it')
    .action(async (id: string) => {
      const api = await cli.api();
      const answer = await api.call<{ data: readonly Exchange[] }>(
        'GET',
        `/api/messages/${part(id)}/exchanges`,
      );
      cli.show(answer, () =>
        answer.data.length === 0
          ? 'No request is stored: none was made, storing is switched off, or it was too long ago.'
          : answer.data.map((exchange) => textOf(cli, exchange)).join('\n\n'),
      );
    });
}

/** As HTTP shows it: `> ` was sent, `< ` came back. */
function textOf({ colours }: Cli, { attempt, at, ms, request, response, fault }: Exchange): string {
  const title = [
    attempt === undefined ? undefined : `attempt ${attempt}`,
    at,
    ms === undefined ? undefined : `${ms} ms`,
    fault,
  ];
  return [
    colours.paint('bold', visible(title.filter((each) => each !== undefined).join(' · '))),
    ...linesOf('>', `${request.method} ${request.url}`, request),
    ...(response ? linesOf('<', String(response.status), response) : []),
  ].join('\n');
}

function linesOf(mark: string, first: string, { headers, body, bytes }: Side): string[] {
  const size = bytes === undefined ? '' : ` (${bytes} bytes)`;
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const lines = [first + size, ...named, ...(body === undefined ? [] : ['', ...body.split('\n')])];
  return lines.map((line) => `${mark} ${visible(line)}`.trimEnd());
}
