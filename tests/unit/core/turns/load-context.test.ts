import { describe, expect, it } from 'vitest';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import { loadContext } from '../../../../router/src/core/turns/take-turn.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';

const turnIn = (isGroup: boolean) => ({ chatId: '7', messageId: '9', message: { isGroup } }) as PendingTurn;
const reads: unknown[] = [];
const history = {
  unanswered: async (...given: unknown[]) => {
    reads.push(given);
    return [
      { sender: '5493777000002', kind: 'image' as const, text: '' },
      { sender: '5493777000001', pushName: ' Ana\n', kind: 'text' as const, text: 'hello' },
    ];
  },
};

describe('loadContext', () => {
  it('returns the unanswered messages of a group, oldest first, with names', async () => {
    const conversation = chatSettingsOf(undefined, { group: { contextMessages: 5 } });
    expect(await loadContext(history, turnIn(true), conversation)).toEqual([
      { by: 'person', name: 'Ana', text: 'hello' },
      { by: 'person', name: 'Member 0002', text: '[image]' },
    ]);
    expect(reads.splice(0)).toEqual([['7', '9', ['group-not-addressed', 'group-event'], 5]]);
  });

  it('ends with a line about a view-once file, which the agent does not get', async () => {
    const conversation = chatSettingsOf(undefined, {});
    const message = {
      isGroup: false,
      from: '5493777000001@s.whatsapp.net',
      pushName: 'Ana',
      viewOnce: 'image',
    };
    const turn = { chatId: '7', messageId: '9', message } as PendingTurn;
    expect(await loadContext(history, turn, conversation)).toEqual([
      { by: 'person', name: 'Ana', text: '[image, view once]' },
    ]);
    expect(reads).toEqual([]);
  });

  it.each([
    ['a 1:1 chat', false, {}],
    ['a group that is always answered', true, { answer: 'always' as const }],
    ['a group without context', true, { contextMessages: 0 }],
  ])('reads nothing in %s', async (_, isGroup, settings) => {
    const conversation = chatSettingsOf(undefined, { group: settings });
    expect(await loadContext(history, turnIn(isGroup), conversation)).toEqual([]);
    expect(reads).toEqual([]);
  });

  it('returns the messages of a pause once, with the words of the owner', async () => {
    const paused = ['chat-paused', 'owner-message'];
    const turnAfter = (chatState: PendingTurn['chatState'], isGroup = false) => ({
      ...turnIn(isGroup),
      chatState,
    });
    const byOwner = {
      unanswered: async (...given: unknown[]) => {
        reads.push(given);
        return [
          { sender: '5493777000002', kind: 'text' as const, text: 'thanks' },
          { sender: '', isOwner: true, pushName: 'Maria', kind: 'text' as const, text: 'we open at nine' },
        ];
      },
    };
    const conversation = chatSettingsOf(undefined, { takeover: { contextMessages: 7 } });
    expect(await loadContext(byOwner, turnAfter({ contextMs: 2, contextTakenMs: 1 }), conversation)).toEqual([
      { by: 'owner', name: 'Owner of this account', text: 'we open at nine' },
      { by: 'person', name: 'Person', text: 'thanks' },
    ]);
    expect(reads.splice(0)).toEqual([['7', '9', paused, 7]]);
    await loadContext(byOwner, turnAfter({ contextMs: 2 }, true), conversation);
    expect(reads.splice(0)).toEqual([['7', '9', ['group-not-addressed', 'group-event', ...paused], 20]]);
    expect(await loadContext(byOwner, turnAfter({ contextMs: 1, contextTakenMs: 1 }), conversation)).toEqual(
      [],
    );
    const none = chatSettingsOf(undefined, { takeover: { contextMessages: 0 } });
    expect(await loadContext(byOwner, turnAfter({ contextMs: 1 }), none)).toEqual([]);
    expect(reads).toEqual([]);
  });
});
