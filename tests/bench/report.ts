import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository.ts';
import type { BenchResults } from './compare.ts';
import { judge, limitText, shown, type Verdict } from './targets.ts';

/** Where the documentation keeps the results. */
const RESULTS_FILE = 'docs/images/performance.json';
const CHART_FILE = 'docs/images/performance.svg';
const CHART = '![Each measurement beside its target](images/performance.svg)';
const PAGE = 'docs/performance.md';
const TABLE = /(<!-- table of npm run bench -->\n)[\s\S]*?(<!-- end of the table -->)/;

/** The verdicts as a table for a terminal. */
export function terminalTable(results: BenchResults): string {
  const rows = judge(results.measured).map((verdict) => [
    verdict.isMet ? 'met' : 'MISSED',
    verdict.target.title,
    cell(verdict.measured.wa2ai, verdict.target.unit),
    cell(verdict.measured.reference, verdict.target.unit),
    verdict.ratio === undefined ? '' : `${shown(verdict.ratio)}x`,
    limitText(verdict.target),
  ]);
  const head = ['', 'measured', 'wa2ai', 'beside', 'ratio', 'target'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n');
}

/** Writes the results as JSON. */
export function writeResults(file: string, results: BenchResults): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** Writes the results, their chart, and the table in docs/performance.md. */
export function writeDocs(results: BenchResults): void {
  const write = (file: string, text: string) => writeFileSync(join(repositoryRoot, file), text);
  writeResults(join(repositoryRoot, RESULTS_FILE), results);
  write(CHART_FILE, chart(judge(results.measured)));
  const page = readFileSync(join(repositoryRoot, PAGE), 'utf8');
  if (!TABLE.test(page))
    throw new Error(`${PAGE} has no place for the table: "<!-- table of npm run bench -->"`);
  write(
    PAGE,
    page.replace(TABLE, (_, begin, end) => `${begin}${markdownTable(results)}\n\n${CHART}\n${end}`),
  );
}

/** The table of docs/performance.md. */
function markdownTable(results: BenchResults): string {
  const rows = judge(results.measured).map(({ target, measured, ratio, isMet }) =>
    [
      target.title,
      cell(measured.reference, target.unit),
      cell(measured.wa2ai, target.unit),
      ratio === undefined ? '' : `${shown(ratio)}x`,
      limitText(target),
      isMet ? 'yes' : '**no**',
    ].join(' | '),
  );
  return [
    '| | bare bot, or as named | wa2ai | ratio | target | met |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

function cell(value: number | undefined, unit: string): string {
  if (value === undefined) return '';
  return unit === '' ? `${shown(value)}` : `${shown(value)} ${unit}`;
}

const ROW_HEIGHT = 34;
const LEFT = 420;
const WIDTH = 900;
const HEAD_HEIGHT = 56;

/**
 * Bars of wa2ai's values in parts of their targets: a bar that ends before the line meets its target. Where more is better,
 * the part is turned round.
 */
export function chart(verdicts: readonly Verdict[]): string {
  const rows = verdicts.filter(({ target }) => (target.value ?? target.ratio)?.atMost !== 0);
  const height = HEAD_HEIGHT + rows.length * ROW_HEIGHT + 16;
  const scale = (WIDTH - LEFT - 170) / 2;
  const bars = rows.map((verdict, index) => {
    const part = Math.min(partOfTarget(verdict), 2);
    const y = HEAD_HEIGHT + index * ROW_HEIGHT;
    const { target, measured, ratio } = verdict;
    const value =
      target.ratio === undefined ? cell(measured.wa2ai, target.unit) : `${shown(ratio ?? Number.NaN)}x`;
    return `  <text x="${LEFT - 12}" y="${y + 15}" class="name">${escapeXml(target.title)}</text>
  <rect x="${LEFT}" y="${y}" width="${(part * scale).toFixed(1)}" height="20" rx="3" class="${verdict.isMet ? 'met' : 'missed'}"/>
  <text x="${(LEFT + part * scale + 8).toFixed(1)}" y="${y + 15}" class="value">${escapeXml(`${value} (${limitText(target)})`)}</text>`;
  });
  const line = LEFT + scale;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="wa2ai's measurements in parts of their targets">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #333; }
    .name { text-anchor: end; }
    .head { font-weight: 600; }
    .met { fill: #0b7a55; }
    .missed { fill: #c2571a; }
    line { stroke: #333; stroke-dasharray: 4 3; }
    @media (prefers-color-scheme: dark) { text { fill: #ddd; } line { stroke: #ddd; } .met { fill: #2fae84; } .missed { fill: #e08a52; } }
  </style>
  <text x="${LEFT}" y="22" class="head">Shorter is better</text>
  <text x="${line}" y="42" text-anchor="middle">target</text>
  <line x1="${line}" y1="48" x2="${line}" y2="${height - 10}"/>
${bars.join('\n')}
</svg>
`;
}

/** 1: exactly the target; less is better. */
function partOfTarget({ target, measured, ratio }: Verdict): number {
  const limit = target.value ?? target.ratio ?? {};
  const value = target.ratio === undefined ? measured.wa2ai : (ratio ?? Number.NaN);
  if ('atLeast' in limit && limit.atLeast !== undefined) return limit.atLeast / value;
  return value / (limit.atMost ?? Number.NaN);
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
