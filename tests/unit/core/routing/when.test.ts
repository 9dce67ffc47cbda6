import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateWhen, shareOf, whenKindOf } from '../../../../router/src/core/routing/when.ts';
import { DAYS, type When } from '../../../../router/src/core/routing/when-fields.ts';

type WhenFacts = Parameters<typeof evaluateWhen>[2];

/** Monday, 2026-11-23, 13:30 in Madrid. */
const MONDAY = Date.UTC(2026, 10, 23, 12, 30);
const HOUR_MS = 3_600_000;

const facts: WhenFacts = { atMs: MONDAY, kind: 'text', isGroup: false, isFirstContact: false, tags: [] };
const holds = (when: When, given: Partial<WhenFacts> = {}, routeId = 'r') =>
  evaluateWhen(when, routeId, { ...facts, ...given }).every((each) => each.holds);

const timeZone = 'Europe/Madrid';

describe('evaluateWhen', () => {
  it.each<[string, boolean, When, Partial<WhenFacts>]>([
    ['no condition', true, {}, {}],
    ['a day', true, { days: ['mon'] }, {}],
    ['another day', false, { days: ['tue', 'wed'] }, {}],
    ['the day of the time zone', true, { days: ['tue'], timeZone: 'Pacific/Auckland' }, {}],
    ['within hours', true, { hours: '09:00-18:00', timeZone }, {}],
    ['the first minute', true, { hours: '13:30-14:00', timeZone }, {}],
    ['the end, which is not included', false, { hours: '09:00-13:30', timeZone }, {}],
    ['hours in UTC', true, { hours: '12:30-12:31' }, {}],
    ['hours until midnight', true, { hours: '12:00-24:00' }, {}],
    ['hours across midnight, before it', true, { hours: '12:00-02:00' }, {}],
    ['hours across midnight, after it', true, { hours: '22:00-02:00' }, { atMs: MONDAY + 13 * HOUR_MS }],
    ['outside of hours across midnight', false, { hours: '22:00-06:00' }, {}],
    ['summer time', true, { hours: '14:30-14:31', timeZone }, { atMs: Date.UTC(2026, 6, 20, 12, 30) }],
    [
      'hours that begin on a day',
      true,
      { days: ['mon'], hours: '22:00-02:00' },
      { atMs: MONDAY + 13 * HOUR_MS },
    ],
    [
      'the day after their start',
      false,
      { days: ['tue'], hours: '22:00-02:00' },
      { atMs: MONDAY + 13 * HOUR_MS },
    ],
    ['hours that begin on a Sunday', true, { days: ['sun'], hours: '22:00-13:00' }, {}],
    ['a day and no hours', false, { days: ['mon'], hours: '14:00-15:00', timeZone }, {}],
    ['a language', true, { languages: ['es', 'pt'] }, { language: 'pt' }],
    ['another language', false, { languages: ['es'] }, { language: 'pt' }],
    ['an unknown language', false, { languages: ['es'] }, {}],
    ['a kind', true, { kinds: ['voice', 'image'] }, { kind: 'image' }],
    ['another kind', false, { kinds: ['voice'] }, {}],
    ['a group', true, { isGroup: true }, { isGroup: true }],
    ['no group', true, { isGroup: false }, {}],
    ['a group where none is wanted', false, { isGroup: false }, { isGroup: true }],
    ['a mention', true, { isMentioned: true }, { toUs: 'mention' }],
    ['a mention in a reply', true, { isMentioned: true, quotesUs: true }, { toUs: 'both' }],
    ['a reply without a mention', false, { isMentioned: true }, { toUs: 'quote' }],
    ['no mention', true, { isMentioned: false }, { toUs: 'quote' }],
    ['a reply', true, { quotesUs: true }, { toUs: 'quote' }],
    ['no reply', false, { quotesUs: true }, { toUs: 'mention' }],
    ['a first contact', true, { isFirstContact: true }, { isFirstContact: true }],
    ['a later message', false, { isFirstContact: true }, {}],
    ['one of the tags', true, { tags: ['vip', 'gold'] }, { tags: ['gold', 'madrid'] }],
    ['none of the tags', false, { tags: ['vip'] }, { tags: ['madrid'] }],
    ['no share', false, { percent: 0 }, { chatId: '7' }],
    ['the whole share', true, { percent: 100 }, { chatId: '7' }],
    ['a share of a chat that is not stored', false, { percent: 99 }, {}],
    ['all of several', true, { days: ['mon'], kinds: ['text'], isGroup: false }, {}],
    ['one of several that does not hold', false, { days: ['mon'], kinds: ['image'], isGroup: false }, {}],
  ])('%s: %s', (_, expected, when, given) => {
    expect(holds(when, given)).toBe(expected);
  });

  it('says for each condition whether it holds and why, without the text of the message', () => {
    const when: When = {
      ...{ days: ['sat', 'sun'], hours: '09:00-18:00', timeZone, languages: ['es'], kinds: ['text'] },
      ...{
        isGroup: true,
        isMentioned: false,
        quotesUs: true,
        isFirstContact: true,
        tags: ['vip'],
        percent: 0,
      },
    };
    const found = evaluateWhen(when, 'r', { ...facts, chatId: '7' });
    expect(found.map(({ condition, holds: does, sentence }) => [condition, does, sentence])).toEqual([
      ['days', false, 'It is mon in Europe/Madrid; the days are sat, sun.'],
      ['hours', true, 'It is 13:30 in Europe/Madrid; the hours are 09:00-18:00.'],
      ['languages', false, 'The language of the text is not known; the languages are es.'],
      ['kinds', true, 'The kind of the message is text; the kinds are text.'],
      ['isGroup', false, 'The chat is no group.'],
      ['isMentioned', true, 'The message does not mention the account.'],
      ['quotesUs', false, 'The message does not reply to one of the account.'],
      ['isFirstContact', false, 'A message of the chat was answered before.'],
      ['tags', false, 'The chat has none of the tags vip.'],
      ['percent', false, 'The chat is not in the 0 percent of chats of this route.'],
    ]);
  });
});

const anyId = fc.uuid();
const anyPercent = fc.double({ min: 0, max: 100, noNaN: true });

describe('percent', () => {
  it('keeps a chat on its side, whatever else changes', () => {
    fc.assert(
      fc.property(
        anyId,
        fc.nat(),
        anyPercent,
        fc.date({ noInvalidDate: true }),
        (routeId, chat, percent, at) => {
          const chatId = String(chat);
          const first = holds({ percent }, { chatId }, routeId);
          const later = { chatId, atMs: at.getTime(), kind: 'image', isGroup: true, tags: ['vip'] } as const;
          expect(holds({ percent }, later, routeId)).toBe(first);
        },
      ),
    );
  });

  it('only adds chats when it grows', () => {
    fc.assert(
      fc.property(anyId, fc.nat(), anyPercent, anyPercent, (routeId, chat, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        const given = { chatId: String(chat) };
        if (holds({ percent: less }, given, routeId))
          expect(holds({ percent: more }, given, routeId)).toBe(true);
      }),
    );
  });

  it('spreads chats evenly, and differently for each route', () => {
    const chats = Array.from({ length: 20_000 }, (_, id) => String(id + 1));
    for (const routeId of ['6f1c1f0e-8f5c-4b8e-9d3a-2f6f1f4f9a10', '6f1c1f0e-8f5c-4b8e-9d3a-2f6f1f4f9a11']) {
      const shares = chats.map((chatId) => shareOf(routeId, chatId));
      for (const percent of [1, 10, 50, 90]) {
        const share = (shares.filter((each) => each < percent).length / chats.length) * 100;
        expect(Math.abs(share - percent)).toBeLessThan(1.5);
      }
    }
    const both = chats.filter((chatId) => shareOf('a', chatId) < 50 && shareOf('b', chatId) < 50);
    expect(both.length / chats.length).toBeGreaterThan(0.23);
    expect(both.length / chats.length).toBeLessThan(0.27);
  });
});

describe('hours', () => {
  const two = (value: number) => String(value).padStart(2, '0');
  const anyTime = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
  const anyHours = fc
    .tuple(anyTime, anyTime)
    .map(([[h1, m1], [h2, m2]]) => [`${two(h1)}:${two(m1)}`, `${two(h2)}:${two(m2)}`] as const)
    .filter(([from, to]) => from !== to);
  const anyMoment = fc.integer({ min: 0, max: 4_000_000 }).map((minute) => minute * 60_000);

  it('of two parts of a day hold for one of them at any moment', () => {
    fc.assert(
      fc.property(anyHours, anyMoment, ([from, to], atMs) => {
        const sides = [`${from}-${to}`, `${to}-${from}`].map((hours) => holds({ hours, timeZone }, { atMs }));
        expect(sides.filter(Boolean)).toHaveLength(1);
      }),
    );
  });

  it('begin on exactly one day of the week at any moment within them', () => {
    fc.assert(
      fc.property(anyHours, anyMoment, ([from, to], atMs) => {
        const hours = `${from}-${to}`;
        const days = DAYS.filter((day) => holds({ days: [day], hours }, { atMs }));
        expect(days).toHaveLength(holds({ hours }, { atMs }) ? 1 : 0);
      }),
    );
  });
});

it.each([
  ['text', {}],
  ['image', { kind: 'text', media: { kind: 'image', mimeType: 'image/png' } }],
  ['voice', { kind: 'audio', media: { kind: 'voice', mimeType: 'audio/ogg' } }],
  ['video', { kind: 'other', viewOnce: 'video' }],
  ['event', { kind: 'other', card: { kind: 'event', name: 'Party' } }],
  ['text', { kind: 'text', card: { kind: 'link', url: 'https://example.com' } }],
  ['contact', { kind: 'contact' }],
  ['other', { kind: 'reaction' }],
] as const)('whenKindOf finds %s in %o', (kind, message) => {
  expect(whenKindOf(message)).toBe(kind);
});
