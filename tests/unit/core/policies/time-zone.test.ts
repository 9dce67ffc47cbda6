import { expect, it } from 'vitest';
import { isTimeZone, localTimeOf } from '../../../../router/src/core/policies/governor.ts';

it.each([
  ['Europe/Madrid', true],
  ['UTC', true],
  ['Mars/Base', false],
  ['', false],
])('tells whether %j is a time zone', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});

it.each([
  ['2026-11-23T12:30:00Z', 'Europe/Madrid', { day: 'mon', minute: 810, second: 48600, text: '13:30' }],
  ['2026-07-20T22:30:59Z', 'Europe/Madrid', { day: 'tue', minute: 30, second: 1859, text: '00:30' }],
  [
    '2026-11-23T00:00:00Z',
    'America/Buenos_Aires',
    { day: 'sun', minute: 1260, second: 75600, text: '21:00' },
  ],
  ['2026-11-23T00:00:00Z', 'UTC', { day: 'mon', minute: 0, second: 0, text: '00:00' }],
])('tells the local time of %s in %s', (time, timeZone, expected) => {
  expect(localTimeOf(Date.parse(time), timeZone)).toEqual(expected);
});
