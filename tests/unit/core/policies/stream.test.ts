import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../../../router/src/core/policies/conversation-fields.ts';
import {
  completeParagraphs,
  growingMessages,
  paragraphMessages,
  unsentText,
} from '../../../../router/src/core/turns/stream-reply.ts';
import { markdownToWhatsApp } from '../../../../router/src/infra/formatting/markdown-to-whatsapp.ts';
import { runs } from '../../../support/property-runs.ts';

const shaping = { conversation: BUILT_IN, formatReply: markdownToWhatsApp };

/** Texts as models write them, in pieces that make and unmake boundaries. */
const markdown = fc
  .array(
    fc.constantFrom(
      'word',
      ' ',
      '\n',
      '\n\n',
      '- ',
      '* ',
      '1. ',
      '1',
      '.',
      '```',
      '```\n',
      '~~~\n',
      '# ',
      '    ',
      '**b**',
      '\r\n',
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''));

describe('completeParagraphs', () => {
  it.each([
    ['nothing before the next paragraph begins', 'one\n\n', []],
    ['what is before the next paragraph', 'one\n\ntwo', ['one\n\n']],
    ['lines of one paragraph together', 'one\ntwo\n\n\nthree', ['one\ntwo\n\n\n']],
    [
      'a list with what introduces it',
      'Do this:\n\n- one\n\n- two\n\nThen rest.',
      ['Do this:\n\n- one\n\n- two\n\n'],
    ],
    ['nothing while the next line may be a list', 'one\n\n12', []],
    ['nothing while half of its line break has arrived', 'one\n\n12\r', []],
    ['a line that only looked like a list', 'one\n\n**bold**', ['one\n\n']],
    ['a paragraph that belongs to a list item', '1. one\n\n   more\n\nend', ['1. one\n\n   more\n\n']],
    ['a heading with its paragraph', '# Title\n\ntext\n\nmore', ['# Title\n\ntext\n\n']],
    ['nothing inside a code block', 'x\n\n```\na\n\nb\n', ['x\n\n']],
    ['a code block that is closed', '```js\na\n\nb\n```\n\nend', ['```js\na\n\nb\n```\n\n']],
    ['a block that another mark does not close', '````\na\n\n```\n\nb', []],
  ])('returns %s', (_what, text, paragraphs) => {
    expect(completeParagraphs(text)).toEqual(paragraphs);
  });

  it('returns the start of the text, and the same for every longer text', () => {
    fc.assert(
      fc.property(markdown, fc.nat(), (text, at) => {
        const part = completeParagraphs(text.slice(0, at % (text.length + 1)));
        const whole = completeParagraphs(text);
        expect(text.startsWith(whole.join(''))).toBe(true);
        expect(whole.slice(0, part.length)).toEqual(part);
      }),
      runs(500),
    );
  });

  it('ends with twenty paragraphs', () => {
    expect(completeParagraphs('p\n\n'.repeat(50))).toHaveLength(20);
  });
});

describe('paragraphs of an answer', () => {
  it('and the rest are the whole answer, wherever it is cut', () => {
    const conversation = { ...BUILT_IN, reply: { ...BUILT_IN.reply, format: 'as-is' as const } };
    const asIs = { ...shaping, conversation };
    const words = (text: string) => text.replace(/\s/g, '');
    fc.assert(
      fc.property(markdown, fc.nat(), (text, at) => {
        const sent = paragraphMessages(text.slice(0, at % (text.length + 1)), asIs);
        const rest = unsentText(text, sent, asIs);
        expect(words(sent.join('') + rest)).toBe(words(text));
        expect(text.endsWith(rest)).toBe(true);
      }),
      runs(300),
    );
  });

  it.each([
    ['the rest of the same answer', 'one\n\ntwo\n\nthree', ['one', 'two'], 'three'],
    ['nothing of an answer that is in the chat', 'one\n\ntwo', ['one', 'two'], ''],
    ['the whole of another answer', 'other\n\ntwo', ['one'], 'other\n\ntwo'],
    ['the whole of an answer that is shorter', 'one', ['one', 'two'], 'one'],
    ['the whole when nothing was sent', 'one\n\ntwo', [], 'one\n\ntwo'],
  ])('leave %s', (_what, text, sent, rest) => {
    expect(unsentText(text, sent, shaping)).toBe(rest);
  });

  it('are formatted, and split when they are too long', () => {
    const conversation = { ...BUILT_IN, reply: { ...BUILT_IN.reply, maxChars: 100 } };
    const text = `**bold** word\n\n${'a sentence. '.repeat(20)}\n\nend`;
    const messages = paragraphMessages(text, { ...shaping, conversation });
    expect(messages[0]).toBe('*bold* word');
    expect(messages.length).toBe(4);
    expect(messages.every((message) => message.length <= 100)).toBe(true);
  });

  it('are held back once something of the text must not leave', () => {
    const key = '-----BEGIN PRIVATE KEY-----\n\nMIIE';
    expect(paragraphMessages(`one\n\n${key}`, shaping)).toEqual([]);
    expect(paragraphMessages('<think>a\n\nb', shaping)).toEqual([]);
    const conversation = { ...BUILT_IN, egressFilter: 'off' as const };
    expect(paragraphMessages(`one\n\n${key}`, { ...shaping, conversation })).toHaveLength(2);
  });
});

describe('growingMessages', () => {
  it.each([
    ['without the last word', 'The answer is fo', ['The answer is']],
    ['with a word that is complete', 'The answer ', ['The answer']],
    ['without the last characters of a script without spaces', '答えは四十二です。そうです', ['答えは四十']],
    ['not at all while there is one word', 'The', []],
    ['with marks that are complete', '**bold** and', ['*bold*']],
    ['without reasoning', '<think>I do not know', []],
  ])('shows a text %s', (_what, text, messages) => {
    expect(growingMessages(text, shaping)).toEqual(messages);
  });

  it('never shows a part of a secret', () => {
    const secret = `sk-${'aB3'.repeat(12)}`;
    const text = `Use Authorization: Bearer ${'x1'.repeat(20)} or ${secret} now, please.`;
    for (let length = 0; length <= text.length; length++) {
      const shown = growingMessages(text.slice(0, length), shaping).join('');
      expect(shown).not.toMatch(/sk-a|x1x1/);
    }
  });

  it('becomes several messages where the text is too long', () => {
    const conversation = { ...BUILT_IN, reply: { ...BUILT_IN.reply, maxChars: 100 } };
    const messages = growingMessages('A sentence. '.repeat(20), { ...shaping, conversation });
    expect(messages.length).toBe(3);
  });

  it('never shows half a character', () => {
    const text = 'Gut 👨‍👩‍👧 und 😀😀😀😀😀';
    for (let length = 0; length <= text.length; length++) {
      const [shown = ''] = growingMessages(text.slice(0, length), shaping);
      expect(() => encodeURIComponent(shown)).not.toThrow();
    }
  });
});
