import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository.ts';
import { shown } from './targets.ts';

const RESULTS_FILE = 'docs/images/agents.json';
const PAGE = 'docs/performance.md';
const TABLE = /(<!-- table of the bench of agents -->\n)[\s\S]*?(<!-- end of the table -->)/;

/** What a client may add to the median round trip, in milliseconds. */
const MAX_ADDED_MS = 2;
/** wa2ai's part of what a bare server does in the same time. */
const MIN_SHARE = 0.8;

/** Medians of the rounds, wa2ai's beside the reference's. */
export interface Pair {
  wa2ai: number;
  bare: number;
}

export interface AgentsResults {
  /** Round trips of each agent kind in milliseconds, and those of a bare fetch. `added`: median of the rounds' differences. */
  kinds: Record<string, Pair & { added: number }>;
  /** Tasks a second that the face opens, beside a bare server. */
  opens: Pair;
  /** Milliseconds until 99 % of 200 readers have the last event of a task. */
  fanOut: Pair;
}

interface Row {
  title: string;
  wa2ai: string;
  bare: string;
  result: string;
  target: string;
  isMet: boolean;
}

/** One row for each kind, and one for each measurement of the face. */
export function agentRows({ kinds, opens, fanOut }: AgentsResults): Row[] {
  const ms = (value: number) => `${shown(value)} ms`;
  const rows = Object.entries(kinds).map(([name, { wa2ai, bare, added }]) => ({
    title: `round trip to an agent of the kind ${name} (beside a bare fetch)`,
    wa2ai: ms(wa2ai),
    bare: ms(bare),
    result: `${added < 0 ? '' : '+'}${shown(added)} ms`,
    target: `< +${MAX_ADDED_MS} ms`,
    isMet: added < MAX_ADDED_MS,
  }));
  const ofFace = (title: string, pair: Pair, share: number, unit: string) => ({
    title,
    wa2ai: `${shown(pair.wa2ai)} ${unit}`,
    bare: `${shown(pair.bare)} ${unit}`,
    result: `${shown(share)}x`,
    target: `>= ${MIN_SHARE}x`,
    isMet: share >= MIN_SHARE,
  });
  return [
    ...rows,
    ofFace('task.open (beside a bare server)', opens, opens.wa2ai / opens.bare, 'tasks/s'),
    // The speed of both: less time is more.
    ofFace('end of a task until 200 readers know it, p99', fanOut, fanOut.bare / fanOut.wa2ai, 'ms'),
  ];
}

/** The rows for a terminal. */
export function agentsText(results: AgentsResults): string {
  const rows = agentRows(results).map(({ isMet, title, wa2ai, bare, result, target }) => [
    isMet ? 'met' : 'MISSED',
    title,
    wa2ai,
    bare,
    result,
    target,
  ]);
  const head = ['', 'measured', 'wa2ai', 'bare', 'result', 'target'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n');
}

/** Writes the results and the table in docs/performance.md. */
export function writeAgentsDocs(results: AgentsResults): void {
  writeFileSync(join(repositoryRoot, RESULTS_FILE), `${JSON.stringify(results, null, 2)}\n`);
  const file = join(repositoryRoot, PAGE);
  const page = readFileSync(file, 'utf8');
  if (!TABLE.test(page)) throw new Error(`${PAGE} has no place for the table of agents`);
  writeFileSync(
    file,
    page.replace(TABLE, (_, begin, end) => `${begin}${agentsTable(results)}\n${end}`),
  );
}

/** The table of docs/performance.md. */
export function agentsTable(results: AgentsResults): string {
  const rows = agentRows(results).map(({ title, wa2ai, bare, result, target, isMet }) =>
    [title, bare, wa2ai, result, target, isMet ? 'yes' : '**no**'].join(' | '),
  );
  return [
    '| | bare | wa2ai | result | target | met |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}
