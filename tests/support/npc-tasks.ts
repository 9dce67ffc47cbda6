import type { TransactionSpending } from '../../router/src/features/npc/npc-chain.ts';
import type { NpcTask } from '../../router/src/features/npc/npc-tasks.ts';

/** What a transaction spends that is about something else. */
export const SPENDING: TransactionSpending = { owner: 'key:1', type: 'duel', amount: 1n, gas: 1n };

/** A task of the NPC server that nobody has begun. */
export function anNpcTask(change: Partial<NpcTask> = {}): NpcTask {
  return {
    taskId: 'task_1',
    owner: 'key:1',
    type: 'social',
    params: { action: 'greet' },
    status: 'pending',
    version: 1,
    attempts: 0,
    createdAtMs: 1_000,
    updatedAtMs: 2_000,
    ...change,
  };
}
