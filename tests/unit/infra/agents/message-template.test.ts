import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../router/src/core/models.ts';
import {
  fillText,
  mapLeaves,
  placeholderProblems,
  soleVariable,
} from '../../../../router/src/infra/agents/message-template.ts';

const message: IncomingMessage = {
  id: '3EB0AAAAAAAAAAAAAAAAAA',
  from: '34600000000@s.whatsapp.net',
  channelId: '34600000000',
  text: 'hello {{from}}',
  timestamp: new Date(1_700_000_000_500),
  mentions: [{ id: '1@lid', tag: '@1' }],
};

describe('fillText', () => {
  it.each([
    ['{{text}}', 'hello {{from}}'],
    ['{{ phone }} said {{text}}', '34600000000 said hello {{from}}'],
    ['{{timestamp}}', 1_700_000_000n],
    ['{{isGroup}}', false],
    ['{{mentions}}', [{ id: '1@lid', tag: '@1', name: '' }]],
    ['no placeholder', 'no placeholder'],
  ])('%s', (text, value) => {
    expect(fillText(text, message)).toEqual(value);
  });
});

describe('mapLeaves', () => {
  it('changes texts at every depth, and nothing else', () => {
    const template = { a: ['x', 1, null], b: { c: 'y', d: true } };
    expect(mapLeaves(template, (text) => `${text}!`)).toEqual({
      a: ['x!', 1, null],
      b: { c: 'y!', d: true },
    });
    let deep: unknown = 'x';
    for (let depth = 0; depth < 100; depth++) deep = [deep];
    expect(JSON.stringify(mapLeaves(deep, (text) => text))).not.toContain('x');
  });
});

describe('soleVariable', () => {
  it('names the variable of a text that is only its placeholder', () => {
    expect([soleVariable('{{ text }}'), soleVariable('{{text}}!')]).toEqual(['text', undefined]);
  });
});

describe('placeholderProblems', () => {
  it('are none for known names, spaces within braces and single braces', () => {
    expect(placeholderProblems(['{{ text }}', 'a {b} {{from}}', { x: '{{media}}' }, 5, null])).toEqual([]);
  });

  it.each([
    ['{{sender}}', /^uses \{\{sender\}\}; the variables are text, from, .*, media$/],
    // Names that every object has.
    ['{{constructor}}', /^uses \{\{constructor\}\}/],
    ['{{__proto__}}', /^uses \{\{__proto__\}\}/],
    ['{{}}', /^uses \{\{\}\}/],
    ['{{text', /^has '\{\{text' without \}\}$/],
    ['{{text}', /^has '\{\{text\}' without \}\}$/],
    ['see {{media}}', /^puts \{\{media\}\} into other text/],
    ['{{media}}{{media}}', /^puts \{\{media\}\} into other text/],
  ])('name what is wrong with %j', (template, sentence) => {
    const problems = placeholderProblems([template]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(sentence);
  });

  it('are reported once each, from every depth', () => {
    expect(placeholderProblems([{ a: ['{{x}}'] }, '{{x}}', '{{y}} {{z'])).toEqual([
      expect.stringContaining('uses {{x}}'),
      expect.stringContaining('uses {{y}}'),
      "has '{{z' without }}",
    ]);
  });
});
