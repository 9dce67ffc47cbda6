import { expect, it } from 'vitest';
import { chatPolicies } from '../../../../router/src/core/policies/policies.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const turn: PendingTurn = {
  messageId: '1',
  chatId: '1',
  accountId: 'main',
  message: { id: 'W1', from: 'f', channelId: 'c', text: 'hello', timestamp: new Date(0) },
  channelIds: [],
  replyTo: '1@lid',
  sender: '1',
  receivedAtMs: 2_000,
  repliedAtMs: 1_000,
};

it('give every policy what it needs: the history of the chat, and the way to show "typing..."', async () => {
  const clock = new FakeClock();
  const read: string[] = [];
  const shown: boolean[] = [];
  const policies = chatPolicies({
    history: {
      answeredTurns: async (chatId) => {
        read.push(chatId);
        return [];
      },
    },
    autoReplyLoop: { turns: 5, replyMs: 1_000 },
    accounts: { provider: () => ({ setTyping: async (_to, isTyping) => void shown.push(isTyping) }) },
    bus: { publish: () => undefined },
    clock,
  });
  for (const { before } of policies) expect(await before?.(turn, quietLog)).toBeUndefined();
  expect(read).toEqual(['1']);
  const during = policies.flatMap((policy) => policy.during ?? []);
  const work = () => clock.advanceMs(1_000).then(() => 'answer');
  expect(await Promise.all(during.map((run) => run(turn, work)))).toEqual(['answer']);
  expect(shown[0]).toBe(true);
});
