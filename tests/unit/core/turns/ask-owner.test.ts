import { describe, expect, it } from 'vitest';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { AccessAsked, ChatRow } from '../../../../router/src/core/ports/chat-store.ts';
import { askOwner } from '../../../../router/src/core/turns/answer-of-turn.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const turn: PendingTurn = {
  messageId: '1',
  chatId: '7',
  accountId: 'main',
  message: {
    id: 'W1',
    from: '5493777239922@s.whatsapp.net',
    channelId: '5493777239922',
    text: `hola\n${'x'.repeat(300)}`,
    timestamp: new Date(0),
    pushName: ' Ana\nB ',
  },
  channelIds: ['5493777239922'],
  replyTo: '1@lid',
  sender: '1',
  receivedAtMs: 0,
};

const step = { step: 'access', outcome: 'stopped', sentence: '' };
const ending = { kind: 'end' as const, reason: 'access-pending' as const, step };

/** Asks about a message, when the store says this. */
async function ask(
  asked: AccessAsked | undefined,
  {
    asksOwner = true,
    isRepeat = false,
    change = {} as Partial<PendingTurn>,
    say = undefined as string | undefined,
    isLocked = false,
  } = {},
) {
  const sent: Array<{ to: string; text: string; idempotencyKey: string }> = [];
  const reads: string[] = [];
  const end = await askOwner(
    {
      chatStore: {
        askAccess: async (id) => {
          reads.push(id);
          return asked;
        },
        get: async () => (isLocked ? ({ isLocked } as ChatRow) : undefined),
      },
      sendNotice: async (notice) => void sent.push(notice),
      log: quietLog,
    },
    {
      turn: { ...turn, ...change },
      route: { id: 'r', channelId: '*' },
      conversation: chatSettingsOf(undefined, {}),
      language: 'de',
      nowMs: 0,
    },
    { ...ending, ...(asksOwner && { asksOwner }), ...(say && { say }) },
    isRepeat,
  );
  return { end, sent, reads };
}

const pending = { access: 'pending', askedAtMs: 5, ownerPhone: '34900000001' } as const;

describe('askOwner', () => {
  it("asks in the account's own chat, in the language of its number, with one key for each question", async () => {
    const { end, sent } = await ask(pending, { say: 'Soon.' });
    expect(end).toEqual({ kind: 'waits', reason: 'access-pending', say: 'Soon.' });
    expect(sent).toEqual([
      {
        accountId: 'main',
        to: '34900000001@s.whatsapp.net',
        text: `Ana B (+5493777239922) ha escrito por primera vez: "hola ${'x'.repeat(195)}"\nPara que el agente responda, escribe aquí: #approve 7\nSi no: #refuse 7`,
        idempotencyKey: 'access-7-5',
      },
    ]);
  });

  it('says nothing of a chat that is locked on the phone, but its number', async () => {
    const { sent } = await ask(pending, { isLocked: true });
    expect(sent[0]?.text).toBe(
      '🔒 (chat 7) ha escrito por primera vez: "🔒"\nPara que el agente responda, escribe aquí: #approve 7\nSi no: #refuse 7',
    );
  });

  it('asks again after a crash only', async () => {
    expect(await ask(pending, { asksOwner: false })).toMatchObject({ sent: [], reads: [] });
    expect((await ask(pending, { asksOwner: false, isRepeat: true })).sent).toMatchObject([
      { idempotencyKey: 'access-7-5' },
    ]);
  });

  it('asks about groups and messages without text', async () => {
    const message = { ...turn.message, isGroup: true, text: '', kind: 'image' as const, pushName: undefined };
    const change = { message, channelIds: ['120363043211234567@g.us'] };
    const { sent } = await ask({ ...pending, ownerPhone: '15551234567' }, { change });
    expect(sent[0]?.text).toMatch(/^\? wrote in a group \(120363043211234567@g\.us\): "\[image\]"\n/);
  });

  it.each([
    ['approved', { kind: 'approved' }],
    ['refused', { kind: 'waits', reason: 'access-refused' }],
    ['over-limit', { kind: 'waits', reason: 'access-over-limit' }],
  ] as const)('sends nothing when the store says %s', async (access, end) => {
    expect(await ask({ access, ownerPhone: '34900000001' })).toMatchObject({ end, sent: [] });
  });

  it('waits where the number of the account is not known', async () => {
    expect(await ask({ access: 'pending', askedAtMs: 5 })).toMatchObject({
      end: { kind: 'waits', reason: 'access-pending' },
      sent: [],
    });
  });
});
