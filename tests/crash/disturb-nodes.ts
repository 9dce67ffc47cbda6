import type { Nodes } from '../support/nodes.ts';
import { type Pauses, pausesOf } from './pauses.ts';
import type { RunSettings } from './process-runs.ts';
import { STUCK_AFTER_MS } from './process-runs.ts';
import type { Trial } from './trial.ts';

export interface DisturbNodesOptions {
  names: readonly string[];
  /** How a node's runs differ from those of the others. */
  settingsOf?: (name: string) => Omit<RunSettings, 'node'>;
  /** Interval between messages, answered or not, in milliseconds. Default 250. */
  writeEveryMs?: number;
}

/** How long people waited because of a disturbance. */
export interface DisturbanceReport {
  /** Before the disturbance, for comparison. */
  before: Pauses;
  /** From the start of the disturbance until every message sent by its end was answered. */
  meanwhile: Pauses;
  /** How long the disturbance took, in milliseconds. */
  tookMs: number;
}

/** Replies before the disturbance begins, and after it while people still write. */
const ANSWERS_BESIDE = 30;

/** Several nodes under continuous load, disturbed after some replies. All end by SIGTERM. */
export async function disturbNodes(
  trial: Trial,
  { names, settingsOf, writeEveryMs = 250 }: DisturbNodesOptions,
  disturb: (nodes: Nodes) => Promise<void>,
): Promise<DisturbanceReport> {
  const { emulator, conversations } = trial;
  const nodes = trial.nodes('disturbed', settingsOf);
  try {
    const live = emulator.waitFor('live', undefined, 60_000);
    await Promise.all([nodes.addAll(names), live]);
    await nodes.untilOpen();
    const startedAtMs = Date.now();
    const stopWriting = conversations.writePeriodically(writeEveryMs);
    try {
      await conversations.untilAnswered(ANSWERS_BESIDE, STUCK_AFTER_MS);
      const fromMs = Date.now();
      await disturb(nodes);
      const untilMs = Date.now();
      await conversations.untilAnswered(conversations.answered + ANSWERS_BESIDE, STUCK_AFTER_MS);
      stopWriting();
      const restMs = Date.now();
      await conversations.untilAllAnswered(STUCK_AFTER_MS);
      const entries = emulator.transcript();
      return {
        before: pausesOf(entries, startedAtMs, fromMs),
        meanwhile: pausesOf(entries, fromMs, restMs),
        tookMs: untilMs - fromMs,
      };
    } finally {
      stopWriting();
    }
  } finally {
    await nodes.endAll('SIGTERM');
  }
}
