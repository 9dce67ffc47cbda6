import { describe, expect, it } from 'vitest';
import { chooseSession, personState, startSession } from '../../../../router/src/core/policies/session.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 0, 2, 12);
const person = { from: '5491@s.whatsapp.net', channelId: '5491', isGroup: false };
const member = { from: '5491@s.whatsapp.net', channelId: '1203@g.us', isGroup: true };
const settings = (session = {}) => chatSettingsOf(undefined, { session }).session;
const turnOf = (message: typeof person, repliedAtMs?: number) => ({ message, sender: '77', repliedAtMs });

describe('chooseSession', () => {
  it('begins with the session of the agent contract', () => {
    expect(chooseSession(turnOf(person), {}, settings(), NOON)).toEqual({
      session: { userId: '5491', id: '5491_5491', number: 1, startMs: 0 },
    });
  });

  it.each([
    ['within the idle time', 29, false],
    ['after it', 31, true],
  ])('%s begins a new one: %s minutes', (_, minutes, isNew) => {
    const turn = turnOf(person, NOON - minutes * MINUTE);
    const { session, patch } = chooseSession(turn, {}, settings({ idleMinutes: 30 }), NOON);
    expect(session.id).toBe(isNew ? '5491_5491_2' : '5491_5491');
    expect(patch).toEqual(isNew ? { sessions: { chat: { number: 2, startMs: NOON } } } : undefined);
  });

  it('begins a new one once after the daily time of the time zone', () => {
    const daily = settings({ dailyAt: '04:00', timeZone: 'America/Argentina/Buenos_Aires' });
    const at = (hour: number) => Date.UTC(2026, 0, 2, hour);
    const numberAt = (repliedAtMs: number, nowMs: number, state = {}) =>
      chooseSession(turnOf(person, repliedAtMs), state, daily, nowMs).session.number;
    // 04:00 in Buenos Aires is 07:00 in UTC
    expect(numberAt(at(5), at(6))).toBe(1);
    expect(numberAt(at(6), at(8))).toBe(2);
    expect(numberAt(at(6), at(9), { sessions: { chat: { number: 2, startMs: at(8) } } })).toBe(2);
  });

  it('has a session for each member of a group, or one for all', () => {
    const state = { sessions: { '77': { number: 3, startMs: 5 }, chat: { number: 2, startMs: 4 } } };
    expect(chooseSession(turnOf(member), state, settings(), NOON).session).toEqual({
      userId: '5491',
      id: '5491_1203_3',
      number: 3,
      startMs: 5,
    });
    expect(chooseSession(turnOf(member), state, settings({ scope: 'chat' }), NOON).session).toEqual({
      userId: '1203',
      id: '1203_1203_2',
      number: 2,
      startMs: 4,
    });
  });
});

describe('personState', () => {
  it('is the session of a person in every chat', () => {
    const scope = settings({ scope: 'person' });
    for (const message of [person, member]) {
      const first = chooseSession(turnOf(message), personState({ number: 1, startMs: 0 }), scope, NOON);
      expect(first.session).toEqual({ userId: '5491', id: '5491_5491', number: 1, startMs: 0 });
      const later = chooseSession(turnOf(message), personState({ number: 3, startMs: 9 }), scope, NOON);
      expect(later.session).toMatchObject({ id: '5491_5491_3', startMs: 9 });
    }
  });
});

describe('startSession', () => {
  it('counts on, and keeps the sessions of others', () => {
    const state = { sessions: { '88': { number: 2, startMs: 1 } } };
    const { session, patch } = startSession(turnOf(member), state, settings(), NOON);
    expect(session.id).toBe('5491_1203_2');
    expect(patch).toEqual({
      sessions: { '88': { number: 2, startMs: 1 }, '77': { number: 2, startMs: NOON } },
    });
  });
});
