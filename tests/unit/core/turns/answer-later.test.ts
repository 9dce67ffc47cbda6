import { describe, expect, it } from 'vitest';
import type { LateAnswer, LateReply } from '../../../../router/src/core/ports/pending-answers.ts';
import { answerLater } from '../../../../router/src/core/turns/answer-of-turn.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { recordingLog } from '../../../support/quiet-log.ts';
import { aRoute } from '../../../support/routes.ts';
import { shaping } from '../../../support/shaping.ts';

function setup(refusal?: 'used') {
  const stored: LateReply[] = [];
  const delivered: string[] = [];
  const log = recordingLog();
  let minted = 0;
  const deps = {
    ...shaping(),
    routes: { get: async (id: string) => aRoute({ id, config: { reply: { format: 'plain' } } }) },
    tokens: {
      routeOf: async () => 'route-1',
      redeem: async (_token: string, replies: readonly LateReply[]): Promise<LateAnswer> => {
        if (refusal) return { outcome: refusal };
        stored.push(...replies);
        return {
          outcome: 'stored',
          replies: replies.map(({ text, waMessageId }, index) => ({
            outboxId: String(index + 5),
            chatId: '7' as never,
            messageId: '2',
            message: { accountId: 'default', to: 'x', text, waMessageId },
          })),
        };
      },
    },
    mintId: () => `WA${++minted}`,
    deliver: (reply: QueuedReply) => void delivered.push(reply.outboxId),
    log,
  };
  return { deps, stored, delivered, log };
}

const picture = { kind: 'image' as const, mimeType: 'image/png', bytes: new Uint8Array([1]) };

describe('answerLater', () => {
  it('stores the replies with ids of their own, and delivers them in order', async () => {
    const { deps, stored, delivered, log } = setup();
    const files = [picture, { ...picture, kind: 'audio' as const, mimeType: 'audio/ogg' }];
    expect(await answerLater(deps, 'token', { response: 'Look', files })).toEqual({
      outcome: 'stored',
      outboxIds: ['5', '6'],
    });
    expect(stored).toMatchObject([
      { waMessageId: 'WA1', text: 'Look', media: { kind: 'image' } },
      { waMessageId: 'WA2', text: '', media: { kind: 'audio' } },
    ]);
    expect(delivered).toEqual(['5', '6']);
    expect(log.lines).toMatchObject([
      { message: 'late answer stored', fields: { messageId: '2', chat: expect.any(String), replies: 2 } },
    ]);
  });

  it("shapes the answer as the message's route says", async () => {
    const { deps, stored } = setup();
    await answerLater(deps, 'token', { response: `**Done** <think>hm</think>${'x'.repeat(4_500)}` });
    expect(stored.map(({ text }) => text.length)).toEqual([4_000, 505]);
    expect(stored[0]?.text.slice(0, 6)).toBe('Done x');
  });

  it('delivers nothing when the token is not valid', async () => {
    const { deps, delivered, log } = setup('used');
    expect(await answerLater(deps, 'token', { response: 'Hello' })).toEqual({ outcome: 'used' });
    expect([delivered, log.lines]).toEqual([[], []]);
  });
});
