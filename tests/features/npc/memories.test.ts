import { describe, expect, it } from 'vitest';
import { memoryText, type RecalledMemory, rankMemories } from '../../../router/src/features/npc/memories.ts';

const NOW = Date.UTC(2026, 0, 31);
const DAY = 86_400_000;
const aMemory = (memoryId: string, change: Partial<RecalledMemory> = {}): RecalledMemory => ({
  memoryId,
  memoryType: 'event',
  content: { text: memoryId },
  importance: 50,
  createdAtMs: NOW,
  relevance: 0,
  ...change,
});
const order = (...candidates: RecalledMemory[]) =>
  rankMemories(candidates, { nowMs: NOW, limit: 10 }).map(({ memoryId }) => memoryId);

describe('rankMemories', () => {
  it('puts relevance before recency and importance, whatever the measure of relevance', () => {
    const old = { relevance: 0.02, createdAtMs: NOW - 300 * DAY, importance: 10 };
    expect(order(aMemory('1', { importance: 100 }), aMemory('2', old))).toEqual(['2', '1']);
  });

  it('without relevance prefers the recent, then the important, then the later one', () => {
    expect(order(aMemory('1', { createdAtMs: NOW - 60 * DAY }), aMemory('2'))).toEqual(['2', '1']);
    expect(order(aMemory('1', { importance: 90 }), aMemory('2'))).toEqual(['1', '2']);
    expect(order(aMemory('9'), aMemory('10'))).toEqual(['10', '9']);
  });

  it('returns at most `limit`, without the relevance', () => {
    const best = rankMemories([aMemory('1'), aMemory('2')], { nowMs: NOW, limit: 1 });
    expect(best).toEqual([
      { memoryId: '2', memoryType: 'event', content: { text: '2' }, importance: 50, createdAtMs: NOW },
    ]);
  });
});

describe('memoryText', () => {
  it('collects every text and number of the content', () => {
    expect(memoryText({ place: 'gate', who: ['Ana', { age: 7, ok: true, none: null }] })).toBe('gate Ana 7');
    expect(memoryText({ text: 'x'.repeat(30_000) })).toHaveLength(20_000);
  });
});
