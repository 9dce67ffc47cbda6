import { describe, expect, it } from 'vitest';
import { estimatedMs, hasEnded, peerOf } from '../../../router/src/features/npc/npc-tasks.ts';

describe('a task of the NPC server', () => {
  it('ends as completed or failed', () => {
    const statuses = ['pending', 'processing', 'completed', 'failed'] as const;
    expect(statuses.map((status) => hasEnded({ status }))).toEqual([false, false, true, true]);
  });

  it('concerns its owner, or the peer that the owner names', () => {
    expect(peerOf({ owner: 'key:1', params: {} })).toBe('key:1');
    expect(peerOf({ owner: 'key:1', params: { peer: 'ana' } })).toBe('key:1/ana');
  });

  it('takes longer when an agent is asked', () => {
    expect(estimatedMs('social')).toBeGreaterThan(estimatedMs('memory'));
  });
});
