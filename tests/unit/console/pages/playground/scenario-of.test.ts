import { describe, expect, it } from 'vitest';
import type { Message } from '../../../../../console/src/conversation/chat-types.ts';
import type { PlayChat } from '../../../../../console/src/pages/playground/people.ts';
import { scenarioOf } from '../../../../../console/src/pages/playground/scenario-of.ts';
import { readScenario } from '../../../../../router/src/features/playground/scenario.ts';

const ANA = '999112345678';
const chat: PlayChat = {
  ...{ id: '1', kind: 'group', name: 'Family', channelId: '9991@g.us' },
  people: [
    { name: 'Ana', phone: ANA },
    { name: 'Luis', phone: '5493777239922' },
  ],
  routeId: 'the-route',
};

const incoming = (id: string, change: object): Message =>
  ({
    ...{ id, direction: 'incoming', waMessageId: `WA${id}`, from: `${ANA}@s.whatsapp.net` },
    ...{ kind: 'text', text: '', state: 'answered' },
    ...change,
  }) as Message;
const outgoing = (id: string, change: object): Message =>
  ({ id, direction: 'outgoing', waMessageId: `WA${id}`, text: '', ...change }) as Message;

describe('scenarioOf', () => {
  it('writes a conversation as a scenario that can be read', async () => {
    const yaml = await scenarioOf(
      chat,
      [
        outgoing('10', { text: 'It is "late": #5', quote: { text: 'what time' } }),
        incoming('2', { text: 'good morning', state: 'ignored' }),
        incoming('9', { from: '5493777239922@s.whatsapp.net', text: '@999000000000 what time?' }),
        incoming('11', { kind: 'reaction', text: '👍' }),
        incoming('12', { text: 'thanks', quotedText: 'It is "late": #5' }),
        incoming('13', { text: 'thank you', editOf: 'WA12' }),
        incoming('14', { kind: 'other', reason: 'deleted' }),
        incoming('15', { text: 'look', media: { kind: 'image', mimeType: 'image/png' } }),
        outgoing('16', { special: { kind: 'reaction', emoji: '❤️' } }),
        outgoing('17', { media: { kind: 'document', mimeType: 'text/plain' } }),
      ],
      async () => 'AAAA',
    );
    expect(await readScenario(yaml)).toEqual({
      scenario: {
        ...{ name: 'Family', group: 'Family', route: 'the-route', people: { Luis: '+5493777239922' } },
        steps: [
          { as: 'Ana', say: 'good morning' },
          { silence: 1500 },
          { as: 'Luis', say: 'what time?', mention: true },
          { expect: { contains: 'It is "late": #5', quotes: 'what time', withinMs: 10_000 } },
          { as: 'Ana', react: '👍' },
          { as: 'Ana', say: 'thanks', quote: true },
          { as: 'Ana', edit: 'thank you' },
          { as: 'Ana', delete: true },
          { as: 'Ana', say: 'look', send: { kind: 'image', data: 'AAAA' } },
          { expect: { reaction: '❤️' } },
          { expect: { file: 'document', withinMs: 10_000 } },
        ],
      },
    });
  });
});
