/** What the NPC remembers of a peer. */
export interface Memory {
  memoryId: string;
  memoryType: string;
  content: Record<string, unknown>;
  /** 0 to 100. */
  importance: number;
  createdAtMs: number;
}

/** A memory that may be recalled. `relevance` is how well its words match the query, from 0 (not at all), by any measure. */
export interface RecalledMemory extends Memory {
  relevance: number;
}

/** After this time, a memory counts half as recent. */
const HALF_RECENT_MS = 7 * 86_400_000;
const MAX_TEXT_CHARS = 20_000;

/** The importance of a memory that is stored without one. */
export const DEFAULT_IMPORTANCE = 50;

/**
 * The best memories first: those that match the query, then the recent and the important ones. Relevance counts as much as
 * recency and importance together.
 */
export function rankMemories(
  candidates: readonly RecalledMemory[],
  { nowMs, limit }: { nowMs: number; limit: number },
): Memory[] {
  const most = Math.max(...candidates.map(({ relevance }) => relevance), Number.MIN_VALUE);
  const scored = candidates.map(({ relevance, ...memory }) => {
    const ageMs = Math.max(0, nowMs - memory.createdAtMs);
    const score = (2 * relevance) / most + 0.5 ** (ageMs / HALF_RECENT_MS) + memory.importance / 100;
    return { memory, score };
  });
  return scored
    .sort((a, b) => b.score - a.score || Number(BigInt(b.memory.memoryId) - BigInt(a.memory.memoryId)))
    .slice(0, limit)
    .map(({ memory }) => memory);
}

/** The words of a memory, which are searched: every text of its content. */
export function memoryText(content: unknown): string {
  const texts: string[] = [];
  const open: unknown[] = [content];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null) open.push(...Object.values(value).reverse());
  }
  return texts.join(' ').slice(0, MAX_TEXT_CHARS);
}

/**
 * What NPCs remember of their peers.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcMemories {
  /** Stores a memory; `text` are its words. Idempotent: a task stores one. @returns its id */
  add(
    scope: NpcScope,
    memory: Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string },
  ): Promise<string>;
  /**
   * Memories that may be the best ones, in any order, at most 100: with a query, those that match any of its words; and
   * unless `isMatchOnly`, the newest and the most important ones.
   */
  recall(
    scope: NpcScope,
    query: string | undefined,
    options: { isMatchOnly: boolean },
  ): Promise<RecalledMemory[]>;
  /** Deletes the content of a memory. A repeat by the same task is one. @returns false: this peer has no such memory */
  forget(scope: NpcScope, memoryId: string, taskId: string): Promise<boolean>;
}

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

/** Whose state: of the NPC of this name towards this peer. */
export interface NpcScope {
  npc: string;
  peer: string;
}

/**
 * What made NPCs feel.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcEmotions {
  /** Idempotent: a task stores one event. */
  add(
    scope: NpcScope,
    event: { taskId: string; trigger: string; intensity: number; context?: Record<string, unknown> },
  ): Promise<void>;
  /** Events that are not forgotten, in any order; at most 1,000. */
  events(scope: NpcScope): Promise<EmotionEvent[]>;
}
