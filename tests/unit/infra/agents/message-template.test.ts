import { describe, expect, it } from 'vitest';
import { placeholderProblems } from '../../../../router/src/infra/agents/message-template.ts';

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
    expect(problems[0]?.sentence).toMatch(sentence);
  });

  it('are reported once each, from every depth', () => {
    const problems = placeholderProblems([{ a: ['{{x}}'] }, '{{x}}', '{{y}} {{z']);
    expect(problems.map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining('uses {{x}}'),
      expect.stringContaining('uses {{y}}'),
      "has '{{z' without }}",
    ]);
  });
});
