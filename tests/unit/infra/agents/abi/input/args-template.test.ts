import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../../../router/src/core/models.ts';
import { fillTemplate } from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import { AbiInputError, FileInput } from '../../../../../../router/src/infra/agents/abi/input/abi-input.ts';

const message: IncomingMessage = {
  id: '3EB0ABC',
  from: '34600111222@s.whatsapp.net',
  channelId: '120363000000000001@g.us',
  accountId: 'sales',
  text: 'it costs $& and {{from}}',
  timestamp: new Date(1_700_000_000_999),
  pushName: 'Ann',
  quotedText: 'before',
  editOf: '3EB0AAA',
  mentions: [
    { id: '34600333444@s.whatsapp.net', tag: '@34600333444', name: 'Bea' },
    { id: '99@lid', tag: '@99' },
  ],
  isGroup: true,
  media: { kind: 'image', mimeType: 'image/png', fileName: 'a.png' },
};
const bareMessage: IncomingMessage = {
  id: 'M',
  from: '1@s.whatsapp.net',
  channelId: '1',
  text: '',
  timestamp: new Date(0),
};

/** An array in so many arrays. */
function nested(depth: number, leaf: unknown): unknown {
  return depth === 0 ? leaf : [nested(depth - 1, leaf)];
}

describe('fillTemplate', () => {
  it.each([
    ['{{text}}', 'it costs $& and {{from}}'],
    ['{{from}}', '34600111222@s.whatsapp.net'],
    ['{{phone}}', '34600111222'],
    ['{{name}}', 'Ann'],
    ['{{waMessageId}}', '3EB0ABC'],
    // The former name.
    ['{{messageId}}', '3EB0ABC'],
    ['{{editOf}}', '3EB0AAA'],
    [
      '{{mentions}}',
      [
        { id: '34600333444@s.whatsapp.net', tag: '@34600333444', name: 'Bea' },
        { id: '99@lid', tag: '@99', name: '' },
      ],
    ],
    ['{{channelId}}', '120363000000000001@g.us'],
    ['{{accountId}}', 'sales'],
    // Whole seconds, as a number.
    ['{{timestamp}}', 1_700_000_000n],
    ['{{ quotedText }}', 'before'],
    ['{{isGroup}}', true],
    ['{{mediaType}}', 'image/png'],
    ['{{fileName}}', 'a.png'],
    ['at {{timestamp}}: {{isGroup}}', 'at 1700000000: true'],
    // What a person writes is inserted as it is and not read as a template.
    ['<{{text}}>', '<it costs $& and {{from}}>'],
    ['no placeholder', 'no placeholder'],
  ])('replaces %j', (template, expected) => {
    expect(fillTemplate(template, message)).toEqual(expected);
  });

  it('uses an empty text, or false, for what the message does not have', () => {
    const names = [
      'name',
      'accountId',
      'quotedText',
      'editOf',
      'mediaType',
      'fileName',
      'mentions',
      'isGroup',
    ];
    expect(
      fillTemplate(
        names.map((name) => `{{${name}}}`),
        bareMessage,
      ),
    ).toEqual(['', '', '', '', '', '', [], false]);
  });

  it('fills arrays and objects, keeps other values, and does not touch keys', () => {
    const template = { '{{from}}': ['{{name}}', 5, true, null], deep: { name: '{{name}}' } };
    expect(fillTemplate(template, message)).toEqual({
      '{{from}}': ['Ann', 5, true, null],
      deep: { name: 'Ann' },
    });
  });

  it('defines a key named __proto__ instead of setting the prototype', () => {
    const filled = fillTemplate(JSON.parse('{"__proto__": "{{name}}"}'), message) as object;
    expect(Object.hasOwn(filled, '__proto__')).toBe(true);
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  });

  it('fills 32 levels and leaves out what is deeper', () => {
    expect(JSON.stringify(fillTemplate(nested(32, '{{name}}'), message))).toContain('"Ann"');
    expect(JSON.stringify(fillTemplate(nested(33, 5), message))).not.toContain('5');
  });

  it('puts the file in place of {{media}}, and asks for one when the message has none', () => {
    const file = new FileInput('<image/png>');
    expect(fillTemplate({ data: '{{ media }}' }, message, file)).toEqual({ data: file });
    expect(() => fillTemplate(['{{media}}'], bareMessage)).toThrow(AbiInputError);
    expect(() => fillTemplate(['{{media}}'], bareMessage)).toThrow(
      'Please send a picture, a voice message or another file with your message',
    );
  });
});
