import { expect, it } from 'vitest';
import { chatPolicies } from '../../../../router/src/core/policies/policies.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { NO_CONDITIONS } from '../../../support/routes.ts';

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

it('give every policy what it needs: the history of the chat, and the ways to show what happens', async () => {
  const clock = new FakeClock();
  const read: string[] = [];
  const shown: boolean[] = [];
  const marked: string[] = [];
  const policies = chatPolicies({
    history: {
      answeredTurns: async (chatId) => {
        read.push(chatId);
        return [];
      },
    },
    inbox: new MemoryInbox(new MemoryState()),
    ...NO_CONDITIONS,
    routes: new MemoryRouteStore(),
    environment: 'lab',
    matcher: { test: async () => 'no-match' },
    say: async () => undefined,
    noticeLog: quietLog,
    autoReplyLoop: { turns: 5, replyMs: 1_000 },
    accounts: {
      provider: () => ({
        setTyping: async (_to, isTyping) => void shown.push(isTyping),
        markRead: async (key) => void marked.push(key.waMessageId),
        react: async () => true,
      }),
    },
    bus: { publish: () => undefined },
    clock,
  });
  const view = {
    turn,
    route: { id: 'r', channelId: '*' },
    conversation: chatSettingsOf(undefined, {}),
    language: 'en' as const,
    nowMs: 0,
  };
  for (const { before, started } of policies) {
    started?.(view);
    expect((await before?.(view, quietLog))?.kind ?? 'continue').toBe('continue');
  }
  expect(read).toEqual(['1']);
  expect(marked).toEqual(['W1']);
  const during = policies.flatMap((policy) => policy.during ?? []);
  const work = () => clock.advanceMs(1_000).then(() => ({ kind: 'answer' as const }));
  const ends = await Promise.all(during.map((run) => run({ ...view, state: {} }, work, () => undefined)));
  expect(ends).toEqual(during.map(() => ({ kind: 'answer' })));
  expect(shown[0]).toBe(true);
});
