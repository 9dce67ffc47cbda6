import { describe, expect, it } from 'vitest';
import type { Received, Sent } from '../../../../console/src/conversation/chat-types.ts';
import { bubblesOf, chatNameOf, numberOf } from '../../../../console/src/conversation/conversation.ts';

const common = { accountId: 'default', channelId: '34600000001', chatId: '7', attempts: 1 };

function received(id: string, change: Partial<Received> = {}): Received {
  return {
    ...common,
    direction: 'incoming',
    id,
    waMessageId: `IN${id}`,
    from: '34600000001@s.whatsapp.net',
    kind: 'text',
    text: `text ${id}`,
    state: 'answered',
    receivedAt: '2026-01-02T03:04:05.000Z',
    ...change,
  };
}

function sent(id: string, change: Partial<Sent> = {}): Sent {
  return {
    ...common,
    direction: 'outgoing',
    id,
    waMessageId: `OUT${id}`,
    text: `text ${id}`,
    state: 'read',
    queuedAt: '2026-01-02T03:04:06.000Z',
    ...change,
  };
}

describe('bubblesOf', () => {
  it('orders messages by their ids, which are longer than 2^53 in time', () => {
    const ids = ['9', '10', '9007199254740993', '9007199254740992'];
    expect(
      bubblesOf(
        ids.map((id) => received(id)),
        false,
      ).map(({ id }) => id),
    ).toEqual(['9', '10', '9007199254740992', '9007199254740993']);
  });

  it('says who wrote', () => {
    const bubbles = bubblesOf(
      [
        received('1'),
        sent('2', { messageId: '1' }),
        sent('3'),
        sent('4', { byHand: true }),
        received('5', { reason: 'owner-message', state: 'ignored' }),
      ],
      false,
    );
    expect(bubbles.map(({ side, writer }) => [side, writer])).toEqual([
      ['person', 'person'],
      ['account', 'agent'],
      ['account', 'program'],
      ['account', 'operator'],
      ['account', 'owner'],
    ]);
    expect(bubbles.map(({ turn }) => turn?.id)).toEqual(['1', undefined, undefined, undefined, undefined]);
  });

  it.each([
    ['draft', 'draft'],
    ['queued', 'waiting'],
    ['sending', 'waiting'],
    ['sent', 'waiting'],
    ['acked', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['dead', 'failed'],
  ])('shows the state %s of a message sent as %s', (state, tick) => {
    expect(bubblesOf([sent('1', { state })], false)).toMatchObject([{ tick }]);
  });

  it('puts reactions on their messages: the last of each person, and none that was taken back', () => {
    const reaction = (id: string, from: string, text: string) =>
      received(id, { kind: 'reaction', reason: 'reaction', about: 'OUT1', from, text });
    const bubbles = bubblesOf(
      [
        sent('1'),
        reaction('2', 'a', '👍'),
        reaction('3', 'a', '🎉'),
        reaction('4', 'b', '👎'),
        reaction('5', 'b', ''),
        received('6'),
        sent('7', { special: { kind: 'reaction', of: 'IN6', emoji: '❤️' } }),
        received('8', { kind: 'reaction', reason: 'reaction', about: 'of another page', text: '👍' }),
      ],
      false,
    );
    expect(bubbles.map(({ id, reactions }) => [id, reactions])).toEqual([
      ['1', ['🎉']],
      ['6', ['❤️']],
    ]);
  });

  it('shows edits and deletions in the message that they are about', () => {
    const bubbles = bubblesOf(
      [
        received('1', { edits: 1, text: 'new words' }),
        received('2', { reason: 'edit-applied', editOf: 'IN1', state: 'ignored' }),
        received('3'),
        received('4', { reason: 'deleted', about: 'IN3', kind: 'other', text: '' }),
        sent('5', { text: 'before' }),
        sent('6', { special: { kind: 'edit', of: 'OUT5' }, text: 'after' }),
        sent('7'),
        sent('8', { special: { kind: 'deletion', of: 'OUT7' }, text: '' }),
        received('9', { editOf: 'IN3', text: 'answered as a new message' }),
      ],
      false,
    );
    expect(bubbles.map(({ id, text, isEdited, isDeleted }) => [id, text, isEdited, isDeleted])).toEqual([
      ['1', 'new words', true, false],
      ['3', 'text 3', false, true],
      ['5', 'after', true, false],
      ['7', 'text 7', false, true],
      ['9', 'answered as a new message', true, false],
    ]);
  });

  it('leaves out what wa2ai itself sent and WhatsApp repeats', () => {
    expect(bubblesOf([received('1', { reason: 'own-message', text: '' })], false)).toEqual([]);
  });

  it('shows an encrypted edit that was not read as a message, whose trace says why', () => {
    const edit = { kind: 'other', reason: 'encrypted-edit', text: '', state: 'ignored' };
    expect(bubblesOf([received('1', edit)], false)).toMatchObject([
      { kind: 'message', reason: 'encrypted-edit', turn: { id: '1' } },
    ]);
  });

  it('names the members of a group, and shows its events between the bubbles', () => {
    const event = { kind: 'other', reason: 'group-event', text: 'Bo left.', state: 'ignored' };
    expect(
      bubblesOf([received('1', { pushName: 'Ana' }), received('2'), received('3', event)], true),
    ).toMatchObject([
      { kind: 'message', name: 'Ana' },
      { kind: 'message', name: '+34600000001' },
      { kind: 'notice', text: 'Bo left.' },
    ]);
  });

  it('says why a message was not sent, and which dead letter it has', () => {
    const failed = {
      state: 'dead',
      reason: 'send-refused',
      error: 'WhatsApp refused it.',
      deadLetterId: '4',
    };
    expect(bubblesOf([sent('1', failed)], false)).toMatchObject([
      { tick: 'failed', reason: 'send-refused', error: 'WhatsApp refused it.', deadLetterId: '4' },
    ]);
  });
});

it.each([
  ['34600000001@s.whatsapp.net', '+34600000001'],
  ['34600000001', '+34600000001'],
  ['81234@lid', '81234'],
])('numberOf %s is %s', (jid, number) => {
  expect(numberOf(jid)).toBe(number);
});

it('says that wa2ai wrote a notice, not the agent', () => {
  const common = { accountId: 'a', channelId: '1', chatId: '1', attempts: 0, text: 'x' };
  const turn = (id: string, state: string, reason?: string) => ({
    ...{
      ...common,
      id,
      state,
      waMessageId: `w${id}`,
      direction: 'incoming' as const,
      from: '1@s.whatsapp.net',
    },
    ...{ kind: 'text', receivedAt: '2026-01-01T00:00:00Z' },
    ...(reason && { reason }),
  });
  const reply = (id: string, more: { messageId?: string; isNotice?: true }) => ({
    ...{ ...common, id, state: 'read', waMessageId: `w${id}`, direction: 'outgoing' as const },
    ...{ queuedAt: '2026-01-01T00:00:01Z', ...more },
  });
  const written = bubblesOf(
    [
      turn('1', 'answered'),
      reply('2', { messageId: '1' }),
      turn('3', 'ignored', 'unsupported-kind:voice'),
      reply('4', { messageId: '3' }),
      turn('5', 'answered', 'draft'),
      reply('6', { messageId: '5' }),
      reply('7', { isNotice: true }),
      reply('8', {}),
    ],
    false,
  );
  const writers = written.filter(({ side }) => side === 'account').map(({ writer }) => writer);
  expect(writers).toEqual(['agent', 'notice', 'agent', 'notice', 'program']);
});

describe('chatNameOf', () => {
  const group = { channelId: '120363000000000001@g.us', pushName: 'Ana' };
  it.each([
    ['the name of a group', { ...group, groupName: 'Weekend team' }, 'Weekend team'],
    ['the address of a group without a name', group, '120363000000000001@g.us'],
    ['the name of a person', { channelId: '34600000001', pushName: 'Ana' }, 'Ana'],
    ['the number of a person without a name', { channelId: '34600000001' }, '+34600000001'],
  ])('is %s', (_, of, name) => {
    expect(chatNameOf(of)).toBe(name);
  });
});
