import { describe, expect, it } from 'vitest';
import { fields, table, widthOf } from '../../../../router/src/cli/output/table.ts';

describe('table', () => {
  it('aligns columns, also with wide characters, emoji and colours', () => {
    const rows = [
      ['ann', '日本', 'x'],
      ['\u001b[32mbo\u001b[0m', '👍🏽', 'y'],
    ];
    expect(table(['NAME', 'TEXT', 'Z'], rows, undefined).split('\n')).toEqual([
      'NAME  TEXT  Z',
      'ann   日本  x',
      '\u001b[32mbo\u001b[0m    👍🏽    y',
    ]);
  });

  it('cuts the widest column until a row fits the terminal', () => {
    const lines = table(['ID', 'TEXT'], [['1', 'a'.repeat(100)]], 20).split('\n');
    expect(lines[1]).toBe(`1   ${'a'.repeat(15)}…`);
    expect(lines.every((line) => widthOf(line) <= 20)).toBe(true);
  });

  it('never cuts the first column, by which other commands name the thing', () => {
    const lines = table(['ID', 'TEXT'], [['i'.repeat(30), 'a'.repeat(100)]], 20).split('\n');
    expect(lines[1]).toBe(`${'i'.repeat(30)}  aaaaa…`);
  });

  it('cuts nothing when no terminal shows it', () => {
    expect(table(['TEXT'], [['a'.repeat(500)]], undefined)).toContain('a'.repeat(500));
  });
});

describe('fields', () => {
  it('aligns values and leaves out those that are missing', () => {
    expect(
      fields([
        ['a', '1'],
        ['long', '2'],
        ['none', undefined],
      ]),
    ).toBe('a     1\nlong  2');
  });
});
