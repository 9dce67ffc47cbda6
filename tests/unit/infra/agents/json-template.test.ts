import { describe, expect, it } from 'vitest';
import {
  JsonTemplateError,
  parseJsonTemplate,
  renderJsonTemplate,
} from '../../../../router/src/infra/agents/json-template.ts';

const render = (template: string, json: unknown) => renderJsonTemplate(parseJsonTemplate(template), json);

describe('a JSON template', () => {
  it.each([
    ['{{a}} and {{ b.c }}', { a: 1, b: { c: 'x' } }, '1 and x'],
    ['{{list.1}}{{list.9}}', { list: ['a', 'b'] }, 'b'],
    ['{{missing}}{{a.b.c}}', { a: 'text' }, ''],
    ['{{#items}}{{name}}, {{/items}}', { items: [{ name: 'a' }, { name: 'b' }] }, 'a, b, '],
    ['{{#items}}{{.}}{{outer}} {{/items}}', { items: [1, 2], outer: '!' }, '1! 2! '],
    ['{{#ok}}yes{{/ok}}{{^ok}}no{{/ok}}', { ok: false }, 'no'],
    ['{{^list}}none{{/list}}', { list: [] }, 'none'],
    ['{{{a}}} {{&a}} {{! a comment }}', { a: '<b>' }, '<b> <b> '],
    ['{{a}}', { a: { deep: [1] } }, '{"deep":[1]}'],
    ['{{constructor}}{{__proto__.x}}', {}, ''],
  ])('%s', (template, json, text) => {
    expect(render(template, json)).toBe(text);
  });

  it.each([
    ['{{#a}}', /never closes \{\{#a\}\}/],
    ['{{/a}}', /closes \{\{\/a\}\}/],
    ['{{#a}}{{/b}}', /closes \{\{\/b\}\}/],
    ['{{a', /has '\{\{' without \}\}/],
    ['x'.repeat(10_001), /at most 10000 characters/],
  ])('refuses %.20s', (template, problem) => {
    expect(() => parseJsonTemplate(template)).toThrow(JsonTemplateError);
    expect(() => parseJsonTemplate(template)).toThrow(problem);
  });

  it('ends when nested sections over a long list multiply', () => {
    const list = Array.from({ length: 1_000 }, (_, index) => index);
    const nested = '{{#list}}{{#list}}{{#list}}x{{/list}}{{/list}}{{/list}}';
    expect(render(nested, { list }).length).toBeLessThanOrEqual(100_000);
  });
});
