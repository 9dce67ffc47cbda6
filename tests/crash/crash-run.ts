import type { Life } from './lives.ts';
import { planLife } from './lives.ts';
import { runTrial, type Trial, type TrialOptions, type TrialReport } from './trial.ts';

export interface CrashOptions extends TrialOptions {
  kills: number;
  /** No further kill after so many minutes. */
  minutes?: number;
  /** Told after each life. */
  onLife?: (life: Life, progress: { said: number; answered: number }) => void;
}

export interface CrashReport extends TrialReport {
  kills: number;
}

/** Kills wa2ai with SIGKILL again and again, at random moments and at each fault point, while people write. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const report = await runTrial(options, (trial) => killAgainAndAgain(options, trial));
  return { ...report, kills: report.lives.filter((life) => life.end !== 'as asked').length };
}

async function killAgainAndAgain(
  { messages, kills, minutes = Number.POSITIVE_INFINITY, onLife }: CrashOptions,
  { emulator, lives, conversations, random }: Trial,
): Promise<void> {
  const untilMs = Date.now() + minutes * 60_000;
  const perLife = Math.floor(messages / (kills + 1));
  for (let kill = 1; kill <= kills && Date.now() < untilMs; kill += 1) {
    const plan = planLife(kill, random, perLife);
    emulator.faults.duplicates = random.between(0, 3);
    conversations.allow(perLife * kill, random.between(4, 40));
    const life = await lives.live(plan, (signal) => conversations.untilAllAnswered(600_000, signal));
    onLife?.(life, conversations);
  }
}
