import { describe, expect, it } from 'vitest';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import { noticeOf } from '../../../../router/src/core/turns/running-turn.ts';

const MINUTE = 60_000;
const settings = (notices = {}) => chatSettingsOf(undefined, { notices });

describe('noticeOf', () => {
  it('returns the text in the language of the person, and when it was sent', () => {
    expect(noticeOf('failed', {}, settings(), 'de', 5)).toEqual({
      text: 'Entschuldigung, ich kann gerade nicht antworten. Bitte versuche es später noch einmal.',
      patch: { notices: { failed: 5 } },
    });
  });

  it.each([
    ['the text of the settings', { failed: 'Later.' }, 'Later.'],
    ['nothing where it is off', { failed: false }, undefined],
  ])('returns %s', (_, notices, text) => {
    expect(noticeOf('failed', {}, settings(notices), 'en', 0)?.text).toBe(text);
  });

  it('returns nothing for ten minutes after the same notice, and does not count another one', () => {
    const state = { notices: { failed: 0 } };
    expect(noticeOf('failed', state, settings(), 'en', 9 * MINUTE)).toBeUndefined();
    expect(noticeOf('failed', state, settings(), 'en', 10 * MINUTE)).toBeDefined();
    expect(noticeOf('unsupported', state, settings(), 'en', MINUTE)?.patch).toEqual({
      notices: { failed: 0, unsupported: MINUTE },
    });
  });

  it('returns the notice when the clock was set back', () => {
    expect(noticeOf('failed', { notices: { failed: 10 * MINUTE } }, settings(), 'en', 0)).toBeDefined();
  });
});
