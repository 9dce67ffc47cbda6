import { quantile } from '../bench/statistics.ts';
import type { CrashReport } from './crash-run.ts';
import type { ProcessRun } from './process-runs.ts';

/** The report as a table for a terminal. */
export function summary(report: CrashReport): string {
  const { check, runs } = report;
  const ended = (wanted: ProcessRun['end']) => runs.filter(({ end }) => end === wanted).length;
  const ready = runs.map(({ readyMs }) => readyMs).filter((ms) => ms !== undefined);
  const live = runs.map(({ liveMs }) => liveMs).filter((ms) => ms !== undefined);
  const rows: Array<[string, string | number]> = [
    ['seed', report.seed],
    ['messages', check.messages],
    ['kills', report.kills],
    ...[...report.reached].map(([point, count]): [string, number] => [`  at ${point}`, count]),
    ['  at a random moment', ended('moment')],
    ['  when all was answered', ended('idle')],
    ['  after waiting too long', ended('late')],
    ['seconds', report.seconds.toFixed(1)],
    ['  of them with kills', report.disturbedSeconds.toFixed(1)],
    ['start to ready, median ms', Math.round(quantile(ready, 0.5))],
    ['start to live, median ms', Math.round(quantile(live, 0.5))],
    ['never answered', check.unanswered.length],
    ['answered twice', check.twice.length],
    ['out of order', check.outOfOrder.length],
    ['reply without a message', check.unexpected.length],
    ['unreadable replies', check.unreadable.length],
    ['replies read after a retry receipt', check.readAfterRetry],
    ['messages requested again', check.requestedAgain.length],
    ['replies sent again with their id', check.repeats],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  for (const point of report.unreached) lines.push(`no run ended at ${point}`);
  return [...lines, report.isPassed ? 'passed' : 'FAILED'].join('\n');
}
