import { describe, expect, it } from 'vitest';
import { pausedChatPolicy } from '../../../../router/src/core/policies/paused-chat.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const turn: PendingTurn = {
  messageId: '1',
  chatId: '1',
  accountId: 'main',
  message: { id: 'W1', from: 'f', channelId: 'c', text: 'hello', timestamp: new Date(0) },
  channelIds: [],
  replyTo: '1@lid',
  sender: '1',
  receivedAtMs: 0,
};

describe('pausedChatPolicy', () => {
  it('ends the turn of a paused chat with the reason chat-paused', async () => {
    expect(await pausedChatPolicy().before?.({ ...turn, isPaused: true }, quietLog)).toEqual({
      reason: 'chat-paused',
      step: {
        step: 'pause',
        outcome: 'stopped',
        sentence: 'The chat was paused when the message had its turn.',
      },
    });
  });

  it('lets the turn of any other chat continue', async () => {
    expect(await pausedChatPolicy().before?.(turn, quietLog)).toBeUndefined();
  });
});
