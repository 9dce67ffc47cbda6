import { describe, expect, it } from 'vitest';
import {
  type MessageToRoute,
  messageToRoute,
  WhenFactsOf,
  whenOf,
} from '../../../../router/src/core/routing/when.ts';
import { aMessage } from '../../../contracts/adapters.ts';

const message: MessageToRoute = {
  accountId: 'a',
  channelIds: ['5493777000001'],
  message: { text: 'hola, ¿qué tal?' },
  receivedAtMs: 5,
};

/** Facts of a message; `asked` lists what was read. */
function setup(given: Partial<MessageToRoute> = {}, isStored = true) {
  const asked: string[] = [];
  const facts = new WhenFactsOf(
    {
      chatStore: {
        routeFacts: async (accountId, [channelId], messageId) => {
          asked.push(`chat ${accountId} ${channelId} ${messageId}`);
          return isStored ? { chatId: '7', tags: ['vip'], isFirstContact: false } : undefined;
        },
      },
      languages: {
        languageOf: async (text) => {
          asked.push(`language of ${text}`);
          return 'es';
        },
      },
    },
    { ...message, ...given },
  );
  return { facts, asked };
}

describe('WhenFactsOf', () => {
  it('reads nothing for conditions about the message itself', async () => {
    const { facts, asked } = setup({ chatId: '9', messageId: '3', toUs: 'quote' });
    const when = {
      days: ['mon' as const],
      kinds: ['text' as const],
      isGroup: false,
      quotesUs: true,
      percent: 5,
    };
    expect(await facts.for(when)).toEqual({
      ...{
        atMs: 5,
        kind: 'text',
        isGroup: false,
        isFirstContact: true,
        tags: [],
        toUs: 'quote',
        chatId: '9',
      },
    });
    expect(asked).toEqual([]);
  });

  it('reads chat and language once, when a condition asks for them', async () => {
    const { facts, asked } = setup({ messageId: '3' });
    for (const when of [{ tags: ['vip'] }, { isFirstContact: true }, { percent: 5 }]) {
      expect(await facts.for(when)).toMatchObject({ chatId: '7', tags: ['vip'], isFirstContact: false });
    }
    expect(asked).toEqual(['chat a 5493777000001 3']);
    for (const languages of [['es'], ['en']]) {
      expect(await facts.for({ languages })).toMatchObject({ language: 'es' });
    }
    expect(asked).toEqual(['chat a 5493777000001 3', 'language of hola, ¿qué tal?']);
  });

  it('knows that a chat which is not stored has no tags and had no answer', async () => {
    const { facts } = setup({}, false);
    const found = await facts.for({ tags: ['vip'] });
    expect(found).toMatchObject({ tags: [], isFirstContact: true });
    expect(found).not.toHaveProperty('chatId');
  });

  it('takes given values instead of what is stored', async () => {
    const { facts, asked } = setup({ given: { tags: ['gold'], isFirstContact: true } });
    expect(await facts.for({ tags: ['gold'], isFirstContact: true })).toMatchObject({
      ...{ tags: ['gold'], isFirstContact: true },
    });
    expect(asked).toEqual([]);
  });

  it('recognizes a group by its address', async () => {
    const { facts } = setup({ channelIds: ['120363041234567890@g.us'] });
    expect(await facts.for({ isGroup: true })).toMatchObject({ isGroup: true });
  });
});

it('whenOf joins the conditions of a route and of all routes, field by field', () => {
  expect(whenOf({}, {})).toBeUndefined();
  expect(whenOf({ when: { tags: ['vip'] } }, {})).toEqual({ timeZone: 'UTC', tags: ['vip'] });
  const defaults = { when: { hours: '09:00-18:00', timeZone: 'Europe/Madrid' } };
  expect(whenOf({}, defaults)).toEqual(defaults.when);
  expect(whenOf({ when: { hours: '18:00-09:00' } }, defaults)).toEqual({
    ...{ hours: '18:00-09:00', timeZone: 'Europe/Madrid' },
  });
});

it('messageToRoute keeps what conditions ask of a message before it is stored', () => {
  const given = {
    ...{ kind: 'text' as const, text: 'look', toUs: 'mention' as const, sentAtMs: 77 },
    media: { kind: 'image' as const, mimeType: 'image/png', reference: 'secret' },
  };
  expect(
    messageToRoute(aMessage('a', { phone: '5493777000001', lid: '123456789012345' }, given)),
  ).toMatchObject({
    accountId: 'a',
    channelIds: ['5493777000001', '123456789012345@lid'],
    message: { text: 'look', kind: 'text', media: { kind: 'image' } },
    toUs: 'mention',
    receivedAtMs: 77,
  });
});
