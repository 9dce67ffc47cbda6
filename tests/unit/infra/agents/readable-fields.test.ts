import { describe, expect, it } from 'vitest';
import { readableFields } from '../../../../router/src/infra/agents/json-template.ts';

describe('readableFields', () => {
  it.each([
    [{ gasUsed: 5, is_new: true, none: null }, ['gas used: 5', 'is new: yes']],
    [{ a: { b: { c: 1 } } }, ['a:', '  b:', '    c: 1']],
    [
      ['x', { y: 1, z: 2 }],
      ['• x', '• y: 1', '  z: 2'],
    ],
    ['text', ['text']],
    [undefined, []],
    [{ a: { b: { c: { d: { e: 1 } } } } }, ['a:', '  b:', '    c:', '      d:', '        {"e":1}']],
  ])('%j', (json, lines) => {
    expect(readableFields(json)).toEqual(lines);
  });
});
