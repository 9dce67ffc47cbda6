import { describe, expect, it } from 'vitest';
import type { NpcTask } from '../../../router/src/features/npc/npc-tasks.ts';
import { promptOf } from '../../../router/src/features/npc/run-npc-task.ts';

const aTask = (type: string, params: Record<string, unknown>): NpcTask => ({
  taskId: 'task_1',
  owner: 'key:1',
  type,
  params,
  status: 'processing',
  version: 2,
  attempts: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
});
const nothing = { npc: 'Guard', emotions: [], memories: [] };

describe('promptOf', () => {
  it('has the action as the words when the peer sends none', () => {
    expect(promptOf(aTask('social', { action: 'greet' }), nothing)).toBe(
      '[You are Guard. You talk to the agent key:1.\nIt asks for: greet.]\n\ngreet',
    );
  });

  it('shortens a long memory', () => {
    const memory = {
      memoryId: '1',
      memoryType: 'event',
      content: { text: 'x'.repeat(1_000) },
      importance: 1,
      createdAtMs: 0,
    };
    const prompt = promptOf(aTask('social', { action: 'greet' }), { ...nothing, memories: [memory] });
    expect(prompt.length).toBeLessThan(450);
  });
});
