import type { EmotionEvent } from './emotions.ts';

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
