import { describe, expect, it } from 'vitest';
import { readable, renderOutputs } from '../../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';
import { parseFunction } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type { AbiValue } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { parseOutputTemplate } from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

function outputsOf(types: string) {
  return parseFunction(`f() returns (${types})`).outputs;
}

function reply(types: string, values: AbiValue[], template?: string) {
  const outputs = types === '' ? [] : outputsOf(types);
  return renderOutputs(
    outputs,
    values,
    template === undefined ? undefined : parseOutputTemplate(template, outputs),
  );
}

const users: AbiValue = [
  ['Ann', 30n],
  ['Bo', 2n ** 255n],
];

describe('a reply made of outputs', () => {
  it.each([
    ['nothing', '', [], undefined],
    ['one text', 'string greeting', ['Hello,\nAnn!'], 'Hello,\nAnn!'],
    ['a number, exactly', 'uint256 sum', [2n ** 256n - 1n], (2n ** 256n - 1n).toString()],
    [
      'several by name',
      'bytes32 hash, uint256 size, bool valid',
      ['0x12', 2n, true],
      'hash: 0x12\nsize: 2\nvalid: true',
    ],
    ['several without names', 'uint256, bool', [1n, false], '1: 1\n2: false'],
    ['a short list', 'uint256[] n', [[1n, 2n, 3n]], '1, 2, 3'],
    [
      'a long list of numbers',
      'uint256[] n',
      [Array.from({ length: 200 }, (_, index) => BigInt(index))],
      Array.from({ length: 200 }, (_, index) => index).join(', '),
    ],
    ['a list of huge numbers', 'uint256[] n', [[2n ** 255n, 1n]], `1. ${2n ** 255n}\n2. 1`],
    ['an empty list', 'uint256[] n', [[]], '(none)'],
    ['a list of sentences', 'string[] s', [['one, two', 'three']], '1. one, two\n2. three'],
    ['a tuple', '(string name, uint256 age) user', [['Ann', 30n]], 'name: Ann\nage: 30'],
    [
      'a list of tuples',
      '(string name, uint256 age)[] users',
      [users],
      `1. name: Ann\n  age: 30\n2. name: Bo\n  age: ${2n ** 255n}`,
    ],
    [
      'a tuple among several',
      '(string name, uint256[] n) user, bool ok',
      [['Ann', [1n]], true],
      'user:\n  name: Ann\n  n: 1\nok: true',
    ],
  ] as Array<[string, string, AbiValue[], string | undefined]>)(
    'shows %s',
    (_name, types, values, expected) => {
      expect(reply(types, values)).toBe(expected);
    },
  );

  it('too long for WhatsApp is cut between characters, with a notice', () => {
    const text = reply('string s', ['😀'.repeat(50_000)]) as string;
    expect(text.length).toBeLessThanOrEqual(65_536);
    expect(text).toMatch(/… \(cut: the whole answer has 100000 characters\)$/);
    expect(text).not.toMatch(/\p{Surrogate}/u);
  });

  it.each([
    ['uint256 sum', [42n], 'It is {{sum}}, {{ 0 }}.', 'It is 42, 42.'],
    ['(string name, uint256 age) user', [['Ann', 30n]], '{{user.name}} is {{user.age}}', 'Ann is 30'],
    [
      '(string name, uint256 age)[] users',
      [users],
      '{{#users}}- {{name}}\n{{/users}}{{users.0.age}}{{users.7.age}}',
      '- Ann\n- Bo\n30',
    ],
    [
      'string[] s, bool ok',
      [['a', 'b'], true],
      '{{#s}}[{{.}}]{{/s}}{{#ok}} fine{{/ok}}{{^ok}} bad{{/ok}}',
      '[a][b] fine',
    ],
    [
      'string[] s, bool ok',
      [[], false],
      '{{#s}}x{{/s}}{{^s}}none{{/s}}{{#ok}}y{{/ok}}{{^ok}} bad{{/ok}}',
      'none bad',
    ],
    ['string s', ['<b>&'], '{{s}} { {{s}} }', '<b>& { <b>& }'],
    ['string s', ['<b>&'], '{{{s}}} {{& s }}{{! said {s} so }}.', '<b>& <b>&.'],
  ] as Array<[string, AbiValue[], string, string]>)(
    'by a template: %s',
    (types, values, template, expected) => {
      expect(reply(types, values, template)).toBe(expected);
    },
  );
});

describe('values in the message log', () => {
  it('are listed by name, with exact numbers, and are cut when they are long', () => {
    const shown = readable(outputsOf('bytes data, uint256[] n, (string name, uint256 age) user'), [
      `0x${'ab'.repeat(5_000)}`,
      Array.from({ length: 300 }, (_, index) => BigInt(index)),
      ['Ann', 2n ** 200n],
    ]) as Record<string, unknown[]>;
    expect(String(shown.data)).toMatch(/^0x(ab){999}… \(10002 characters\)$/);
    expect(shown.n).toHaveLength(101);
    const grid = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 'x'.repeat(1_000)));
    expect(JSON.stringify(readable(outputsOf('string[][] grid'), [grid])).length).toBeLessThan(60_000);
    expect(shown.user).toEqual({ name: 'Ann', age: (2n ** 200n).toString() });
  });
});
