import { shown } from './targets.ts';

/** From a message to its answer, in milliseconds, for a container that exists and is stopped. */
const WARM_MS = 1_000;
/** The same for an agent that never ran, with its image on this machine. */
const COLD_MS = 2_000;
const PROCESS_MS = 500;
/** What wa2ai may add to the median of a bare fetch, in milliseconds. */
const MAX_ADDED_MS = 3;

/** What was measured with one runtime. */
export interface HostResults {
  /** `process`, or the engine and its version. */
  title: string;
  /** Medians of the first message of an agent, and of the first one after a stop, in milliseconds. */
  coldMs: number;
  warmMs: number;
  /** Medians of messages to a running agent in milliseconds. `added`: median of the rounds' differences. */
  message: { wa2ai: number; bare: number; added: number };
  /** Processor time of an idle node in percent of a core: without agents, and with 20 stopped and 5 running ones. */
  idle: { without: number; with: number };
}

interface HostRow {
  cells: [measured: string, value: string, target: string];
  isMet: boolean;
}

/** One row for each measurement; idle time has no target. */
export function hostRows(results: readonly HostResults[]): HostRow[] {
  return results.flatMap(({ title, coldMs, warmMs, message, idle }) => {
    const isProcess = title === 'process';
    const below = (what: string, value: number, limit: number, text = `${shown(value)} ms`): HostRow => ({
      cells: [`${title}: ${what}`, text, `< ${limit} ms`],
      isMet: value < limit,
    });
    const added = `${shown(message.wa2ai)} ms, ${message.added < 0 ? '' : '+'}${shown(message.added)} ms`;
    return [
      below('cold wake to the first answer', coldMs, isProcess ? PROCESS_MS : COLD_MS),
      below('warm wake to the first answer', warmMs, isProcess ? PROCESS_MS : WARM_MS),
      below(
        `message to a running agent, beside ${shown(message.bare)} ms bare`,
        message.added,
        MAX_ADDED_MS,
        added,
      ),
      {
        cells: [
          `${title}: idle node with 20 stopped and 5 running agents, beside ${shown(idle.without)} % without`,
          `${shown(idle.with)} % of a core`,
          '',
        ],
        isMet: true,
      },
    ];
  });
}

/** The rows as a table in Markdown. */
export function hostText(results: readonly HostResults[]): string {
  const rows = hostRows(results).map(({ cells, isMet }) => {
    const met = cells[2] === '' ? '' : isMet ? 'yes' : '**no**';
    return `| ${[...cells, met].join(' | ')} |`;
  });
  return ['| hosted agents | wa2ai | target | met |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
