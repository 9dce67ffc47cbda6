import { describe, expect, it } from 'vitest';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { ChatRow } from '../../../../router/src/core/ports/chat-store.ts';
import { showDraft } from '../../../../router/src/core/turns/answer-of-turn.ts';
import type { NewReply, PendingTurn } from '../../../../router/src/core/turns/turn.ts';

const turn: PendingTurn = {
  messageId: '17',
  chatId: '7',
  accountId: 'main',
  message: {
    id: 'W1',
    from: '5493777239922@s.whatsapp.net',
    channelId: '5493777239922',
    text: 'When do you open?',
    timestamp: new Date(0),
    pushName: 'Ana',
  },
  channelIds: ['5493777239922'],
  replyTo: '1@lid',
  sender: '1',
  receivedAtMs: 0,
};

/** What the owner gets about these replies. */
async function shown(texts: string[], phone: string | undefined = '4915112345678', isLocked = false) {
  const sent: Array<{ accountId: string; to: string; text: string; idempotencyKey: string }> = [];
  const load = async () => ({ state: 'open' as const, generation: 1, ...(phone && { phone }) });
  const deps = {
    accountStore: { load },
    chatStore: { get: async () => (isLocked ? ({ isLocked } as ChatRow) : undefined) },
    sendNotice: async (notice: (typeof sent)[number]) => void sent.push(notice),
  };
  const replies = texts.map(
    (text) => ({ accountId: 'main', to: '1@lid', waMessageId: 'R', text }) as NewReply,
  );
  await showDraft(deps, { turn, conversation: chatSettingsOf(undefined, {}) }, replies);
  return sent;
}

describe('showDraft', () => {
  it('sends the answer and what to write to the owner, in the language of the owner', async () => {
    const [notice] = await shown(['At nine.', 'On Sundays at ten.']);
    expect(notice).toMatchObject({ accountId: 'main', to: '4915112345678@s.whatsapp.net' });
    expect(notice?.text).toBe(
      'Ana (+5493777239922) hat geschrieben: "When do you open?"\nDie Antwort wartet auf dich:\n\nAt nine.\n\nOn Sundays at ten.\n\n' +
        'Um sie zu senden, schreibe hier: #send 17\nAndere Worte: #edit 17 dein Text\nKeine Antwort: #drop 17',
    );
  });

  it('shows no words of a chat that is locked on the phone', async () => {
    const [notice] = await shown(['At nine.'], undefined, true);
    expect(notice?.text).toBe(
      '🔒 (chat 7) hat geschrieben: "🔒"\nDie Antwort wartet auf dich:\n\n🔒\n\n' +
        'Um sie zu senden, schreibe hier: #send 17\nAndere Worte: #edit 17 dein Text\nKeine Antwort: #drop 17',
    );
  });

  it('has the same key for the same answer, and another one for another answer', async () => {
    const keys = [];
    for (const text of ['a', 'a', 'b']) keys.push((await shown([text]))[0]?.idempotencyKey);
    expect(new Set(keys).size).toBe(2);
    expect(keys[0]).toBe(keys[1]);
  });

  it('cuts a very long answer', async () => {
    const [notice] = await shown(['x'.repeat(10_000)]);
    expect(notice?.text.length).toBeLessThan(3_500);
    expect(notice?.text).toContain('x…');
  });

  it('sends nothing without an answer, or before the number of the account is known', async () => {
    expect(await shown([])).toEqual([]);
    expect(await shown(['a'], '')).toEqual([]);
  });
});
