import type { Nodes } from '../support/nodes.ts';
import { type Pauses, pausesOf } from './pauses.ts';
import type { LifeSettings } from './process-runs.ts';
import { STUCK_AFTER_MS, type Trial } from './trial.ts';

export interface OverNodesOptions {
  names: readonly string[];
  /** How a node's lives differ from those of the others. */
  settingsOf?: (name: string) => Omit<LifeSettings, 'node'>;
  /** A message is said so often, whatever becomes of the answers. Default 250. */
  writeEveryMs?: number;
}

/** What people noticed of a disturbance. */
export interface Noticed {
  /** While nothing was disturbed, for comparison. */
  before: Pauses;
  /** From the beginning of the disturbance until everything said by then was answered. */
  meanwhile: Pauses;
  /** How long the disturbance took, in milliseconds. */
  tookMs: number;
}

/** Answers before the disturbance begins, and after it while people still write. */
const ANSWERS_BESIDE = 30;

/** Several nodes through which people write on and on, disturbed once they are in full swing; all end by SIGTERM. */
export async function overNodes(
  trial: Trial,
  { names, settingsOf, writeEveryMs = 250 }: OverNodesOptions,
  disturb: (nodes: Nodes) => Promise<void>,
): Promise<Noticed> {
  const { emulator, conversations } = trial;
  const nodes = trial.nodes('disturbed', settingsOf);
  try {
    const live = emulator.waitFor('live', undefined, 60_000);
    await Promise.all([nodes.addAll(names), live]);
    await nodes.untilOpen();
    const startedAtMs = Date.now();
    const stopWriting = conversations.writeOn(writeEveryMs);
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
