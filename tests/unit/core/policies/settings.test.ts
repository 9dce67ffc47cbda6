import { describe, expect, it } from 'vitest';
import {
  chatSettingsOf,
  originsOf,
  storedConversation,
} from '../../../../router/src/core/policies/settings.ts';

describe('chatSettingsOf', () => {
  it('takes each field from the route, else from the default of all routes, else from wa2ai', () => {
    const route = { channelId: '*', config: { reply: { format: 'plain' as const } } };
    const defaults = { reply: { format: 'as-is' as const, maxChars: 500 }, egressFilter: 'off' as const };
    const conversation = chatSettingsOf(route, defaults);
    expect(conversation).toMatchObject({ reply: { format: 'plain', maxChars: 500 }, egressFilter: 'off' });
    expect(originsOf(route, defaults)).toMatchObject({
      'reply.format': 'route',
      'reply.maxChars': 'default',
      egressFilter: 'default',
    });
    expect(chatSettingsOf(undefined, {})).toMatchObject({ reply: { format: 'whatsapp', maxChars: 4_000 } });
    expect(originsOf(undefined, {})['reply.maxChars']).toBe('built-in');
  });

  it('answers mentions in groups on a route of all chats, and everything on the route of a group', () => {
    const answerOf = (channelId: string) => chatSettingsOf({ channelId, config: {} }, {}).group.answer;
    expect([answerOf('*'), answerOf('120363000000000001@g.us')]).toEqual(['mention', 'always']);
    const defaults = { group: { answer: 'never' as const } };
    expect(chatSettingsOf({ channelId: '1@g.us', config: {} }, defaults).group.answer).toBe('never');
  });

  it('waits for more lines before it asks a language model, unless the route or the defaults say otherwise', () => {
    const debounceOf = (kind: string, pace = {}, defaults = {}) =>
      chatSettingsOf({ channelId: '*', config: { agent: { kind }, pace } }, defaults).pace.debounceMs;
    expect([debounceOf('openai'), debounceOf('adk'), debounceOf('abi')]).toEqual([1_500, 0, 0]);
    expect(debounceOf('openai', { debounceMs: 0 })).toBe(0);
    expect(debounceOf('openai', {}, { pace: { debounceMs: 700 } })).toBe(700);
  });
});

describe('storedConversation', () => {
  it.each([
    [undefined, {}],
    ['text', {}],
    [{ reply: { maxChars: 500 }, newer: 1 }, { reply: { maxChars: 500 } }],
    [{ reply: { maxChars: -1 }, egressFilter: 'off' }, { egressFilter: 'off' }],
  ])('reads %j', (stored, known) => {
    expect(storedConversation(stored)).toEqual(known);
  });
});
