import type { Memory, RecalledMemory } from './memories.ts';
import type { NpcScope } from './npc-emotions.ts';

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
