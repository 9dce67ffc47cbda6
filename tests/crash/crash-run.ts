import type { FaultPoint } from '../../router/src/app/fault-points.ts';
import { KillPlan } from './kill-plan.ts';
import type { Life } from './process-runs.ts';
import { runTrial, type Trial, type TrialOptions, type TrialReport } from './trial.ts';

/** From so many kills on, each fault point must have ended a life. */
const KILLS_FOR_ALL_POINTS = 25;
/** Unanswered messages at a time, chosen anew for each life. */
const FEWEST_OPEN = 4;
const MOST_OPEN = 40;

export interface CrashOptions extends TrialOptions {
  kills: number;
  /** No further kill after so many minutes. */
  minutes?: number;
  /** Told after each life. */
  onLife?: (life: Life, progress: { said: number; answered: number }) => void;
}

export interface CrashReport extends TrialReport {
  kills: number;
  /** How often each fault point ended a life. */
  reached: ReadonlyMap<FaultPoint, number>;
  /** Fault points that a run of this many kills should have reached and did not. */
  unreached: FaultPoint[];
  /** What people saw is as promised, and nothing that was to be tried was left untried. */
  isGood: boolean;
}

/** Kills wa2ai with SIGKILL again and again, at random moments and at each fault point, while people write. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  let reached: CrashReport['reached'] = new Map();
  const report = await runTrial(options, async (trial) => {
    reached = await killAgainAndAgain(options, trial);
  });
  const kills = report.lives.filter((life) => life.end !== 'as asked').length;
  const unreached =
    kills < KILLS_FOR_ALL_POINTS ? [] : [...reached].filter(([, n]) => n === 0).map(([point]) => point);
  return { ...report, kills, reached, unreached, isGood: report.verdict.isGood && unreached.length === 0 };
}

async function killAgainAndAgain(
  { messages, kills, minutes = Number.POSITIVE_INFINITY, onLife }: CrashOptions,
  { emulator, lives, conversations, random }: Trial,
): Promise<CrashReport['reached']> {
  const untilMs = Date.now() + minutes * 60_000;
  const perLife = Math.floor(messages / (kills + 1));
  const kill = new KillPlan(random, perLife);
  for (let number = 1; number <= kills && Date.now() < untilMs; number += 1) {
    const plan = kill.next(number);
    emulator.faults.duplicates = random.between(0, 3);
    // A life may take more than its share of the messages, or less; the next ones make up for it.
    conversations.allow(Math.min(messages, perLife * (number + 1)), random.between(FEWEST_OPEN, MOST_OPEN));
    const life = await lives.live(plan, conversations);
    kill.ended(plan, life.end === 'fault');
    onLife?.(life, conversations);
  }
  return kill.reached();
}
