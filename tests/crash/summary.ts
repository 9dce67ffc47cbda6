import { quantile } from '../bench/statistics.ts';
import type { CrashReport } from './crash-run.ts';
import type { Life } from './process-runs.ts';

/** The report as a table for a terminal. */
export function summary(report: CrashReport): string {
  const { verdict, lives } = report;
  const ended = (wanted: Life['end']) => lives.filter(({ end }) => end === wanted).length;
  const ready = lives.map(({ readyMs }) => readyMs).filter((ms) => ms !== undefined);
  const live = lives.map(({ liveMs }) => liveMs).filter((ms) => ms !== undefined);
  const rows: Array<[string, string | number]> = [
    ['seed', report.seed],
    ['messages', verdict.messages],
    ['kills', report.kills],
    ...[...report.reached].map(([point, count]): [string, number] => [`  at ${point}`, count]),
    ['  at a random moment', ended('moment')],
    ['  when all was answered', ended('idle')],
    ['  after waiting too long', ended('late')],
    ['seconds', report.seconds.toFixed(1)],
    ['  of them with kills', report.disturbedSeconds.toFixed(1)],
    ['start to ready, median ms', Math.round(quantile(ready, 0.5))],
    ['start to live, median ms', Math.round(quantile(live, 0.5))],
    ['never answered', verdict.unanswered.length],
    ['answered twice', verdict.twice.length],
    ['out of order', verdict.outOfOrder.length],
    ['answer to nothing', verdict.unexpected.length],
    ['replies nobody could read', verdict.unreadable.length],
    ['replies read after asking again', verdict.healed],
    ['messages asked for again', verdict.askedAgain.length],
    ['bubbles sent again with their id', verdict.repeats],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  for (const point of report.unreached) lines.push(`no life ended at ${point}`);
  return [...lines, report.isGood ? 'as promised' : 'NOT AS PROMISED'].join('\n');
}
