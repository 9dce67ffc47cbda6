import { describe, expect, it } from 'vitest';
import type { AgentResponse } from '../../../../router/src/core/models.ts';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { shapeReply } from '../../../../router/src/core/policies/reply.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';

const format = (text: string, to: string) => (to === 'as-is' ? text : text.replaceAll('**', '*'));
const shape = (response: Partial<AgentResponse>, settings: ConversationSettings = {}) =>
  shapeReply({ success: true, ...response }, chatSettingsOf(undefined, settings), format);
const picture = { kind: 'image' as const, mimeType: 'image/png', bytes: new Uint8Array([1]) };

describe('shapeReply', () => {
  it('keeps a plain answer, without a step', () => {
    expect(shape({ response: 'Hello' })).toEqual({
      replies: [{ text: 'Hello' }],
      steps: [],
      isWithheld: false,
    });
    expect(shape({})).toEqual({ replies: [], steps: [], isWithheld: false });
  });

  it('converts Markdown unless the route or the agent says that it stays', () => {
    expect(shape({ response: '**a**' }).replies).toEqual([{ text: '*a*' }]);
    expect(shape({ response: '**a**' }).steps).toMatchObject([{ step: 'reply', outcome: 'formatted' }]);
    expect(shape({ response: '**a**' }, { reply: { format: 'as-is' } }).replies).toEqual([{ text: '**a**' }]);
    expect(shape({ response: '**a**', isPlain: true }).replies).toEqual([{ text: '**a**' }]);
  });

  it('sends a long text in several messages, before a file without caption', () => {
    const audio = { ...picture, kind: 'audio' as const };
    const response = `${'a '.repeat(60)}\n\n${'b '.repeat(60)}`;
    const { replies, steps } = shape({ response, files: [audio] }, { reply: { maxChars: 150 } });
    expect(replies.map(({ text }) => text)).toEqual(['a '.repeat(60).trim(), 'b '.repeat(60).trim(), '']);
    expect(steps).toMatchObject([{ step: 'reply', outcome: 'split', messages: 2 }]);
  });

  it('cuts what must not leave, and says so', () => {
    const { replies, steps, isWithheld } = shape({ response: '<think>hm</think>Yes, at 10.0.0.1' });
    expect([replies, isWithheld]).toEqual([[{ text: 'Yes, at [removed]' }], false]);
    expect(steps).toMatchObject([
      {
        step: 'egress-filter',
        outcome: 'cut',
        removed: [
          { kind: 'reasoning', count: 1 },
          { kind: 'private-address', count: 1 },
        ],
        sentence: 'Removed from the answer: reasoning (1), private-address (1).',
      },
    ]);
    expect(shape({ response: 'at 10.0.0.1' }, { egressFilter: 'off' }).replies).toEqual([
      { text: 'at 10.0.0.1' },
    ]);
  });

  it('withholds an answer of which nothing may leave', () => {
    const { replies, steps, isWithheld } = shape({ response: '<think>hm</think>' });
    expect([replies, isWithheld]).toEqual([[], true]);
    expect(steps).toMatchObject([{ outcome: 'withheld' }]);
  });
});
