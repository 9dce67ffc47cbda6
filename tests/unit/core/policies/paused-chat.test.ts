import { describe, expect, it } from 'vitest';
import { pausedChatPolicy } from '../../../../router/src/core/policies/access.ts';
import { decisionOf, turnView } from '../../../support/policies.ts';

const decide = (turn: Parameters<typeof turnView>[0]) => decisionOf(pausedChatPolicy(), turnView(turn));

describe('the policy of paused chats', () => {
  it('ends the turn of a paused chat with the reason chat-paused', async () => {
    expect(await decide({ isPaused: true, receivedAtMs: 5 })).toEqual({
      kind: 'end',
      reason: 'chat-paused',
      step: {
        step: 'pause',
        outcome: 'stopped',
        sentence: 'The chat was paused when the message had its turn.',
        phrase: { code: 'chat.was-paused' },
      },
      patch: { contextMs: 5 },
    });
  });

  it('lets the turn continue where the owner approves its answer', async () => {
    expect(await decide({ isApproving: true, receivedAtMs: 5 })).toEqual({
      kind: 'continue',
      step: {
        step: 'pause',
        outcome: 'approve',
        sentence: 'The owner approves answers of this chat before they are sent.',
        phrase: { code: 'draft.waits' },
      },
    });
  });

  it('lets the turn of any other chat continue', async () => {
    expect(await decide({ receivedAtMs: 5 })).toEqual({ kind: 'continue' });
  });
});
