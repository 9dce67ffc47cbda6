import type { FaultPoint } from '../../router/src/config/config-fields.ts';
import { KillPlan } from './kill-plan.ts';
import type { ProcessRun } from './process-runs.ts';
import { runTrial, type Trial, type TrialOptions, type TrialReport } from './trial.ts';

/** With at least this many kills, each fault point must have ended a run. */
const KILLS_FOR_ALL_POINTS = 25;
/** Range of unanswered messages at a time, chosen for each run. */
const FEWEST_OPEN = 4;
const MOST_OPEN = 40;

export interface CrashOptions extends TrialOptions {
  kills: number;
  /** No further kill after so many minutes. */
  minutes?: number;
  /** Called after each run. */
  onRun?: (run: ProcessRun, progress: { said: number; answered: number }) => void;
}

export interface CrashReport extends TrialReport {
  kills: number;
  /** How often each fault point ended a run. */
  reached: ReadonlyMap<FaultPoint, number>;
  /** Fault points that a run of this many kills should have reached and did not. */
  unreached: FaultPoint[];
  /** No promise was broken, and every fault point was reached. */
  isPassed: boolean;
}

/** Kills wa2ai with SIGKILL repeatedly, at random moments and at each fault point, while people write. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  let reached: CrashReport['reached'] = new Map();
  const report = await runTrial(options, async (trial) => {
    reached = await killRepeatedly(options, trial);
  });
  const kills = report.runs.filter(({ end }) => end !== 'as asked' && end !== 'late').length;
  const unreached =
    kills < KILLS_FOR_ALL_POINTS ? [] : [...reached].filter(([, n]) => n === 0).map(([point]) => point);
  return { ...report, kills, reached, unreached, isPassed: report.check.isPassed && unreached.length === 0 };
}

async function killRepeatedly(
  { messages, kills, minutes = Number.POSITIVE_INFINITY, onRun }: CrashOptions,
  { emulator, runs, conversations, random }: Trial,
): Promise<CrashReport['reached']> {
  const untilMs = Date.now() + minutes * 60_000;
  const perRun = Math.floor(messages / (kills + 1));
  const kill = new KillPlan(random, perRun);
  for (let number = 1; number <= kills && Date.now() < untilMs; number += 1) {
    const plan = kill.next(number);
    emulator.faults.duplicates = random.between(0, 3);
    // a run may answer more or less than its share of the messages; later runs compensate
    conversations.allow(Math.min(messages, perRun * (number + 1)), random.between(FEWEST_OPEN, MOST_OPEN));
    const run = await runs.run(plan, conversations);
    kill.ended(plan, run.end === 'fault');
    onRun?.(run, conversations);
    // it waits for turns that run alone
    if (run.end === 'late') await runs.untilAllAnswered(conversations);
  }
  return kill.reached();
}
