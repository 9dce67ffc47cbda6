import { describe, expect, it } from 'vitest';
import { hoursOf, tagField, whenField } from '../../../../router/src/core/routing/when-fields.ts';

describe('whenField', () => {
  it.each([
    [{ days: [] }, 'days'],
    [{ days: ['monday'] }, 'days'],
    [{ hours: '9-18' }, 'must be two different times such as 09:00-18:00'],
    [{ hours: '09:00-09:00' }, 'must be two different times'],
    [{ timeZone: 'Mars/Base' }, 'must be a time zone such as Europe/Madrid'],
    [{ languages: ['spanish'] }, 'must be a language of two letters such as es, en or pt'],
    [{ languages: ['xx'] }, 'must be a language of two letters'],
    [{ kinds: ['gif'] }, 'kinds'],
    [{ tags: ['two words'] }, 'must be one word of at most 32 letters, digits, - and _'],
    [{ percent: 101 }, 'percent'],
    [{ isGroup: 'yes' }, 'isGroup'],
    [{ weekdays: ['mon'] }, 'weekdays'],
  ])('refuses %o and names the field or says why', (when, expected) => {
    const { error } = whenField.safeParse(when);
    expect(JSON.stringify(error?.issues)).toContain(expected);
  });

  it('accepts every condition, and a share with a fraction', () => {
    const when = {
      ...{ days: ['mon', 'sun'], hours: '22:00-06:00', timeZone: 'America/Buenos_Aires', languages: ['es'] },
      ...{ kinds: ['voice'], isGroup: false, isMentioned: true, quotesUs: false, isFirstContact: true },
      ...{ tags: ['vip'], percent: 0.5 },
    };
    expect(whenField.parse(when)).toEqual(when);
  });
});

it.each([
  ['09:00-18:00', { fromMinute: 540, toMinute: 1080 }],
  ['22:30-06:15', { fromMinute: 1350, toMinute: 375 }],
  ['00:00-24:00', { fromMinute: 0, toMinute: 1440 }],
  ['24:00-06:00', undefined],
  ['09:00-25:00', undefined],
  ['09:00-24:01', undefined],
  ['09:00', undefined],
  ['09:00 - 18:00', undefined],
])('hoursOf reads %s', (text, expected) => {
  expect(hoursOf(text)).toEqual(expected);
});

it.each([
  [' VIP ', 'vip'],
  ['madrid_2026', 'madrid_2026'],
  ['Señor', 'señor'],
  ['客户', '客户'],
  ['two words', undefined],
  ['-x', undefined],
  ['', undefined],
  ['x'.repeat(33), undefined],
])('tagField makes of %j %j', (given, expected) => {
  expect(tagField.safeParse(given).data).toBe(expected);
});
