import { describe, expect, it } from 'vitest';
import { PHRASES, saidBy, say } from '../../../router/src/core/phrases.ts';

describe('say', () => {
  it('makes a sentence with its code', () => {
    expect(say('group.never')).toEqual({
      sentence: 'The route answers no messages in groups.',
      phrase: { code: 'group.never' },
    });
  });

  it('puts values into the sentence, and carries them', () => {
    expect(say('quota.exceeded', { messages: 3, minutes: 60 })).toEqual({
      sentence: 'The person wrote more than 3 messages in 60 minutes.',
      phrase: { code: 'quota.exceeded', values: { messages: 3, minutes: 60 } },
    });
  });

  it('carries a sentence in a sentence as a phrase, and what has no code as a text', () => {
    expect(say('route.takes', { route: '"a"', agent: say('route.own-agent') })).toEqual({
      sentence: 'Route "a" takes the message to the agent that wa2ai runs for it.',
      phrase: { code: 'route.takes', values: { route: '"a"', agent: { code: 'route.own-agent' } } },
    });
    const conditions = [say('when.no-group'), { sentence: 'It rains.' }];
    expect(say('rule.when-not-met-why', { conditions })).toEqual({
      sentence: 'Its conditions (`when`) do not hold. The chat is no group. It rains.',
      phrase: {
        code: 'rule.when-not-met-why',
        values: { conditions: [{ code: 'when.no-group' }, 'It rains.'] },
      },
    });
  });

  it('does not fill a value into a value', () => {
    expect(say('field.not-allowed', { why: '{why} $& {min}' }).sentence).toBe(
      'is not allowed: {why} $& {min}',
    );
  });
});

describe('the catalogue of phrases', () => {
  it('has each sentence under one code', () => {
    const forms = Object.values(PHRASES);
    expect(forms.filter((form, at) => forms.indexOf(form) !== at)).toEqual([]);
  });

  it('knows the code of a sentence without values', () => {
    expect(saidBy('is missing')).toEqual({ sentence: 'is missing', phrase: { code: 'field.missing' } });
    expect(saidBy('is purple')).toEqual({ sentence: 'is purple' });
  });
});
