import { describe, expect, it } from 'vitest';
import {
  type DeadLetterFilter,
  type Replay,
  type ReplayDeps,
  replayDeadLetters,
} from '../../../router/src/features/dead-letters/dead-letters.ts';

/** Open dead letters with these ids, in which `outcomes` says what a replay of an id gives. */
function setup(ids: string[], outcomes: Record<string, Replay> = {}) {
  const filters: DeadLetterFilter[] = [];
  const served: Array<{ chatId: string; isRunning: boolean }> = [];
  const delivered: string[] = [];
  const deps: ReplayDeps = {
    deadLetters: {
      replay: async (id) =>
        outcomes[id] ?? {
          outcome: 'replayed',
          messageId: id,
          chatId: `c${id}`,
          worker: { chatId: `c${id}`, node: 'n1', epoch: 1 },
          isNewWorker: true,
        },
      close: async () => 'closed',
      open: async (filter, limit) => {
        filters.push(filter);
        return ids.slice(0, limit);
      },
    },
    workers: {
      nodeForNextChat: () => 'n1',
      serve: ({ chatId }, isRunning = false) => void served.push({ chatId, isRunning }),
    },
    deliver: (replies) => void delivered.push(...replies.map(({ outboxId }) => outboxId)),
  };
  return { deps, filters, served, delivered };
}

describe('replayDeadLetters', () => {
  it('starts a chat worker per message and says where the next letters start', async () => {
    const { deps, filters, served } = setup(['1', '2', '3']);
    expect(await replayDeadLetters(deps, { reason: 'AGENT_TIMEOUT', after: '0' }, 2)).toEqual({
      replayed: 2,
      hasMore: true,
      next: '2',
    });
    expect(filters).toEqual([{ reason: 'AGENT_TIMEOUT', after: '0' }]);
    expect(served).toEqual([
      { chatId: 'c1', isRunning: false },
      { chatId: 'c2', isRunning: false },
    ]);
  });

  it('delivers replies, and does not count letters that another call replayed', async () => {
    const message = { accountId: 'default', to: '1@s.whatsapp.net', waMessageId: 'W', text: 'hello' };
    const { deps, served, delivered } = setup(['1', '2'], {
      1: { outcome: 'replayed', reply: { outboxId: '9', chatId: 'c1', message } },
      2: { outcome: 'known' },
    });
    expect(await replayDeadLetters(deps, {}, 2)).toEqual({ replayed: 1, hasMore: false });
    expect(delivered).toEqual(['9']);
    expect(served).toEqual([]);
  });
});
