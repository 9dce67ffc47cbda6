/** Something that made the NPC feel, as it was stored. */
export interface EmotionEvent {
  /** What was felt, or what caused it: `gift`. */
  trigger: string;
  /** 0 to 100. */
  intensity: number;
  atMs: number;
}

/** What the NPC feels now. */
export interface Emotion {
  trigger: string;
  /** Whole number from 1 to 100. */
  intensity: number;
}

/** After this time, half of an emotion is gone. */
export const HALF_LIFE_MS = 3_600_000;

/** An event that is older adds less than a tenth of a point. */
export const FORGOTTEN_AFTER_MS = 10 * HALF_LIFE_MS;

/**
 * What the NPC feels at a moment, strongest first. Events with the same trigger add up, to 100 at most, and decay in between.
 * @param events in any order
 */
export function emotionsAt(events: readonly EmotionEvent[], nowMs: number): Emotion[] {
  const felt = new Map<string, { value: number; atMs: number }>();
  for (const { trigger, intensity, atMs } of [...events].sort((a, b) => a.atMs - b.atMs)) {
    const before = felt.get(trigger);
    const value = Math.min(100, intensity + (before ? decayed(before, atMs) : 0));
    felt.set(trigger, { value, atMs });
  }
  return [...felt]
    .map(([trigger, state]) => ({ trigger, intensity: Math.round(decayed(state, nowMs)) }))
    .filter(({ intensity }) => intensity > 0)
    .sort((a, b) => b.intensity - a.intensity || (a.trigger < b.trigger ? -1 : 1));
}

/** A clock that goes back lets nothing grow. */
function decayed({ value, atMs }: { value: number; atMs: number }, nowMs: number): number {
  return value * 0.5 ** (Math.max(0, nowMs - atMs) / HALF_LIFE_MS);
}
