import type {
  Memory,
  NpcMemories,
  NpcScope,
  RecalledMemory,
} from '../../router/src/features/npc/memories.ts';

interface Row extends NpcScope, Memory {
  taskId: string;
  words: string[];
  forgottenBy?: string;
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Memories of NPCs in memory. Relevance is the share of the words that match. */
export class MemoryNpcMemories implements NpcMemories {
  readonly #now: () => number;
  readonly #rows: Row[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async add(
    scope: NpcScope,
    memory: Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string },
  ): Promise<string> {
    const { text, ...stored } = memory;
    const known = this.#rows.find(({ taskId }) => taskId === memory.taskId);
    if (known) return known.memoryId;
    const memoryId = String(this.#rows.length + 1);
    this.#rows.push({ ...scope, ...stored, memoryId, words: wordsOf(text), createdAtMs: this.#now() });
    return memoryId;
  }

  async recall(
    { npc, peer }: NpcScope,
    query: string | undefined,
    { isMatchOnly }: { isMatchOnly: boolean },
  ): Promise<RecalledMemory[]> {
    const wanted = new Set(wordsOf(query ?? ''));
    return this.#rows
      .filter((row) => row.npc === npc && row.peer === peer && row.forgottenBy === undefined)
      .map(({ memoryId, memoryType, content, importance, createdAtMs, words }) => {
        const hits = words.filter((word) => wanted.has(word)).length;
        const relevance = words.length === 0 ? 0 : hits / words.length;
        return { memoryId, memoryType, content, importance, createdAtMs, relevance };
      })
      .filter(({ relevance }) => relevance > 0 || !isMatchOnly);
  }

  async forget({ npc, peer }: NpcScope, memoryId: string, taskId: string): Promise<boolean> {
    const row = this.#rows.find(
      (each) => each.memoryId === memoryId && each.npc === npc && each.peer === peer,
    );
    if (!row || (row.forgottenBy ?? taskId) !== taskId) return false;
    Object.assign(row, { content: {}, words: [], forgottenBy: taskId });
    return true;
  }
}
