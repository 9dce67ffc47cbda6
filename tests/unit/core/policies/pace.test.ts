import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../../../router/src/core/policies/conversation-fields.ts';
import { collect, mergedTurn, pacePolicy, waitMsOf } from '../../../../router/src/core/policies/pace.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { NO_CONDITIONS } from '../../../support/routes.ts';

const PACE = BUILT_IN.pace;

const commands = { new: true, help: true, stop: true, status: true };

type Given = Omit<Partial<PendingTurn>, 'message'> & { message?: Partial<PendingTurn['message']> };

function line(id: number, atMs: number, text: string, { message, ...more }: Given = {}): PendingTurn {
  return {
    messageId: String(id),
    chatId: '1',
    accountId: 'a',
    message: {
      id: `WA${id}`,
      from: '1@s.whatsapp.net',
      channelId: '1',
      text,
      timestamp: new Date(0),
      kind: 'text',
      ...message,
    },
    channelIds: ['1'],
    replyTo: '1@s.whatsapp.net',
    sender: '1',
    receivedAtMs: atMs,
    ...more,
  };
}

const photo = {
  message: { kind: 'image' as const, media: { kind: 'image' as const, mimeType: 'image/png' } },
};

describe('collect', () => {
  const cases: Array<[string, Partial<typeof PACE>, PendingTurn[], string[], boolean]> = [
    ['waits for more', { debounceMs: 1_000 }, [line(1, 0, 'a'), line(2, 900, 'b')], ['1', '2'], true],
    ['ends with a pause', { debounceMs: 1_000 }, [line(1, 0, 'a'), line(2, 1_001, 'b')], ['1'], false],
    [
      'ends with the longest wait of its first message',
      { debounceMs: 1_000, maxWaitMs: 1_500 },
      [line(1, 0, 'a'), line(2, 900, 'b'), line(3, 1_501, 'c')],
      ['1', '2'],
      false,
    ],
    [
      'ends with a file, which belongs to it',
      { debounceMs: 1_000 },
      [line(1, 0, 'a'), line(2, 1, '', photo), line(3, 2, 'c')],
      ['1', '2'],
      false,
    ],
    ['is a file alone', { debounceMs: 1_000 }, [line(1, 0, '', photo), line(2, 1, 'b')], ['1'], false],
    [
      'ends before a place',
      { debounceMs: 1_000 },
      [line(1, 0, 'a'), line(2, 1, '', { message: { kind: 'location' } })],
      ['1'],
      false,
    ],
    ['ends before a command', { debounceMs: 1_000 }, [line(1, 0, 'a'), line(2, 1, '/help')], ['1'], false],
    ['is a command alone', { debounceMs: 1_000 }, [line(1, 0, '/new'), line(2, 1, 'b')], ['1'], false],
    [
      'ends before another person',
      { debounceMs: 1_000 },
      [line(1, 0, 'a'), line(2, 1, 'b', { sender: '2' }), line(3, 2, 'c')],
      ['1'],
      false,
    ],
    ['merges whatever waits', { busy: 'merge' }, [line(1, 0, 'a'), line(2, 60_000, 'b')], ['1', '2'], true],
    [
      'leaves what an agent may have as it is',
      { busy: 'merge' },
      [line(1, 0, 'a', { earlierAttempts: 1 }), line(2, 1, 'b')],
      ['1'],
      false,
    ],
    [
      'is again what an agent had',
      { debounceMs: 1_000 },
      [
        line(1, 0, 'a', { mergedInto: '2' }),
        line(2, 5_000, 'b', { earlierAttempts: 1 }),
        line(3, 5_001, 'c'),
      ],
      ['1', '2'],
      false,
    ],
    [
      'grows by what interrupts the agent',
      { busy: 'interrupt' },
      [line(1, 0, 'a', { earlierAttempts: 1 }), line(2, 9_000, 'b')],
      ['1', '2'],
      true,
    ],
  ];
  it.each(cases)('%s', (_name, settings, waiting, ids, isOpen) => {
    const found = collect(waiting, { pace: { ...PACE, ...settings }, commands });
    expect(found.lines.map(({ messageId }) => messageId)).toEqual(ids);
    expect(found.isOpen).toBe(isOpen);
  });

  it('ends before a message of another route', () => {
    const pace = { ...PACE, debounceMs: 1_000 };
    const found = collect([line(1, 0, 'a'), line(2, 1, 'b')], { pace, commands }, new Set(['2']));
    expect(found.lines).toHaveLength(1);
  });

  it('says that the person wrote /stop after it, unless the command is off', () => {
    const pace = { ...PACE, debounceMs: 1_000 };
    const waiting = [line(1, 0, 'a'), line(2, 1, '/stop')];
    expect(collect(waiting, { pace, commands }).isStopped).toBe(true);
    expect(collect(waiting, { pace, commands: { ...commands, stop: false } }).lines).toHaveLength(2);
  });

  it('gives every message to one turn, in their order, with all words', () => {
    const message = fc.record({
      gapMs: fc.integer({ min: 0, max: 3_000 }),
      sender: fc.constantFrom('1', '1', '1', '2'),
      text: fc.constantFrom('a', 'b c', 'line\nline', '/help', '', '/stop'),
      isFile: fc.boolean(),
    });
    const settings = fc.record({
      debounceMs: fc.integer({ min: 0, max: 2_000 }),
      maxWaitMs: fc.integer({ min: 0, max: 5_000 }),
      busy: fc.constantFrom('queue' as const, 'merge' as const, 'interrupt' as const),
    });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 120 }), settings, (messages, pace) => {
        let atMs = 0;
        const all = messages.map(({ gapMs, sender, text, isFile }, index) => {
          atMs += gapMs;
          return line(index, atMs, text, { sender, ...(isFile && photo) });
        });
        const turns: PendingTurn[][] = [];
        for (let rest = all; rest.length > 0; ) {
          const { lines } = collect(rest, { pace, commands });
          turns.push(lines);
          rest = rest.slice(lines.length);
        }
        expect(turns.flat()).toEqual(all);
        for (const lines of turns) {
          expect(new Set(lines.map(({ sender }) => sender)).size).toBe(1);
          const { message: merged, messageId, merged: earlier = [] } = mergedTurn(lines);
          expect(messageId).toBe(lines.at(-1)?.messageId);
          expect(earlier.map((each) => each.messageId)).toEqual(
            lines.slice(0, -1).map((each) => each.messageId),
          );
          if (lines.length > 1) {
            const words = lines.map((each) => each.message.text).filter((text) => text !== '');
            expect(merged.text).toBe(words.join('\n'));
          }
        }
      }),
    );
  });
});

describe('waitMsOf', () => {
  const pace = { ...PACE, debounceMs: 1_000, maxWaitMs: 1_500 };
  it.each([
    [[line(1, 0, 'a')], 0, 1_000],
    [[line(1, 0, 'a'), line(2, 400, 'b')], 500, 900],
    [[line(1, 0, 'a'), line(2, 900, 'b')], 1_000, 500],
    [[line(1, 0, 'a')], 1_000, 0],
    [[line(1, 0, 'a')], 9_000, 0],
  ])('is the time until the last message is old enough, within the longest wait', (lines, nowMs, waitMs) => {
    expect(waitMsOf({ lines, isOpen: true }, pace, nowMs)).toBe(waitMs);
  });

  it('is nothing when no message can follow', () => {
    expect(waitMsOf({ lines: [line(1, 0, 'a')], isOpen: false }, pace, 0)).toBe(0);
  });
});

describe('mergedTurn', () => {
  it('is the last message with the words, the mentions and the quote of all', () => {
    const ben = { id: '2@s.whatsapp.net', tag: '@2' };
    const merged = mergedTurn([
      line(1, 0, 'first', { toUs: 'mention', message: { mentions: [ben], quotedText: 'before' } }),
      line(2, 1, 'second', { toUs: 'quote', edits: 2 }),
      line(3, 2, '', photo),
    ]);
    expect(merged).toMatchObject({
      messageId: '3',
      bubbleId: 'WA3',
      toUs: 'both',
      merged: [
        { messageId: '1', bubbleId: 'WA1' },
        { messageId: '2', bubbleId: 'WA2', edits: 2 },
      ],
      message: {
        id: 'WA3-2',
        kind: 'text',
        text: 'first\nsecond',
        quotedText: 'before',
        mentions: [ben],
        media: photo.message.media,
      },
    });
  });

  it('is the message itself when it is alone', () => {
    const alone = line(1, 0, 'a', { edits: 1 });
    expect(mergedTurn([alone])).toBe(alone);
  });
});

describe('the pace policy', () => {
  const view = (waiting: PendingTurn[], pace: Partial<typeof PACE>, read: string[] = []) => {
    const policy = pacePolicy({
      inbox: {
        waiting: async (chatId) => {
          read.push(chatId);
          return { turns: waiting, nowMs: 5_000 };
        },
      },
      ...NO_CONDITIONS,
      routes: { candidates: async () => [] },
      matcher: { test: async () => 'match' },
      environment: 'lab',
    });
    const conversation = chatSettingsOf({ channelId: '*', config: { pace } }, {});
    const turn = waiting[0] ?? line(1, 0, 'a');
    const route = { id: 'r', channelId: '*' };
    return { policy, given: { turn, route, conversation, language: 'en' as const, nowMs: 90_000 } };
  };

  it('reads nothing with the default settings', async () => {
    const read: string[] = [];
    const { policy, given } = view([line(1, 0, 'a')], {}, read);
    expect(await policy.before?.(given, quietLog)).toEqual({ kind: 'continue' });
    expect(read).toEqual([]);
  });

  it("waits by the store's time, from now by the node's", async () => {
    const { policy, given } = view([line(1, 4_400, 'a')], { debounceMs: 1_000 });
    expect(await policy.before?.(given, quietLog)).toMatchObject({ kind: 'wait', untilMs: 90_400 });
  });

  it('answers the first message alone when the others cannot be read', async () => {
    const { policy, given } = view([line(1, 0, 'a')], { debounceMs: 1_000 });
    const broken = pacePolicy({
      inbox: { waiting: () => Promise.reject(new Error('damaged')) },
      ...NO_CONDITIONS,
      routes: { candidates: async () => [] },
      matcher: { test: async () => 'match' },
      environment: 'lab',
    });
    expect(policy.name).toBe('pace');
    expect(await broken.before?.(given, quietLog)).toEqual({ kind: 'continue' });
  });

  it('ends what waits when the person writes /stop', async () => {
    const { policy, given } = view([line(1, 4_900, 'a'), line(2, 4_950, '/stop')], { debounceMs: 1_000 });
    expect(await policy.before?.(given, quietLog)).toMatchObject({
      kind: 'end',
      reason: 'stopped-by-person',
    });
  });

  it('does not interrupt an agent unless the route says so', async () => {
    const read: string[] = [];
    const { policy, given } = view([line(1, 0, 'a'), line(2, 1, 'b')], { busy: 'merge' }, read);
    expect(await policy.interrupts?.(given)).toBe(false);
    expect(read).toEqual([]);
  });
});
