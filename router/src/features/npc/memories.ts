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
