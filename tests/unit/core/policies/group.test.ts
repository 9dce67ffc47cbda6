import { describe, expect, it } from 'vitest';
import { groupPolicy } from '../../../../router/src/core/policies/access.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { decisionOf, turnView } from '../../../support/policies.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const message = (isGroup: boolean) => ({
  id: 'W1',
  from: 'f',
  channelId: 'c',
  text: 'hey robot',
  timestamp: new Date(0),
  isGroup,
});

/** What is decided about a message, whose text matches these patterns of the settings. */
function decide(
  isGroup: boolean,
  toUs: 'mention' | 'quote' | 'both' | undefined,
  answer: 'mention' | 'never' | 'always',
  matched?: string,
) {
  const policy = groupPolicy({ matcher: { test: async () => 'match' } });
  const group = { answer, patterns: matched === undefined ? [] : [matched] };
  return decisionOf(policy, turnView({ message: message(isGroup), toUs }, { group }));
}

describe('the group policy', () => {
  it.each([
    ['a 1:1 chat', false, undefined, 'mention', undefined, 'continue', undefined],
    ['a 1:1 chat, never in groups', false, undefined, 'never', undefined, 'continue', undefined],
    ['an unaddressed message', true, undefined, 'mention', undefined, 'end', 'group-not-addressed'],
    ['a mention', true, 'mention', 'mention', undefined, 'continue', undefined],
    ['a reply to us', true, 'quote', 'mention', undefined, 'continue', undefined],
    ['both', true, 'both', 'mention', undefined, 'continue', undefined],
    ['a pattern', true, undefined, 'mention', 'robot', 'continue', undefined],
    ['any message where all are answered', true, undefined, 'always', undefined, 'continue', undefined],
    ['a mention where none is answered', true, 'mention', 'never', undefined, 'end', 'group-never'],
  ] as const)('decides about %s', async (_, isGroup, toUs, answer, matched, kind, reason) => {
    const decision = await decide(isGroup, toUs, answer, matched);
    expect(decision.kind).toBe(kind);
    expect(decision.kind === 'end' ? decision.reason : undefined).toBe(reason);
  });

  it('says in the trace how the message was addressed', async () => {
    const decision = await decide(true, 'quote', 'mention');
    expect(decision.step).toEqual({
      step: 'group',
      outcome: 'addressed',
      sentence: 'The message replies to a message of the account.',
      phrase: { code: 'group.quotes-us' },
    });
  });
});

describe('groupPolicy', () => {
  it('tests the patterns only of messages that are not addressed otherwise, until one matches', async () => {
    const tested: string[] = [];
    const policy = groupPolicy({
      matcher: {
        test: async (pattern) => {
          tested.push(pattern);
          return pattern === 'robot' ? 'match' : 'no-match';
        },
      },
    });
    const decide = async (toUs?: PendingTurn['toUs']) => {
      const turn = { message: message(true), toUs } as PendingTurn;
      const conversation = chatSettingsOf(undefined, { group: { patterns: ['bot$', 'robot', 'x'] } });
      return (
        await policy.before?.(
          { turn, route: { id: 'r', channelId: '*' }, conversation, language: 'en', nowMs: 0 },
          quietLog,
        )
      )?.kind;
    };
    expect([await decide('mention'), tested]).toEqual(['continue', []]);
    expect([await decide(), tested]).toEqual(['continue', ['bot$', 'robot']]);
  });
});
