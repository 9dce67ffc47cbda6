import { describe, expect, it } from 'vitest';
import { parseFunction } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import {
  AbiDefinitionError,
  type AbiValue,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import {
  outputAt,
  parseOutputTemplate,
  renderTemplate,
  soleReference,
  withOutputAt,
} from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

function outputsOf(types: string) {
  return parseFunction(`f() returns (${types})`).outputs;
}

function rendered(types: string, values: AbiValue[], template: string): string {
  const outputs = outputsOf(types);
  return renderTemplate(parseOutputTemplate(template, outputs), outputs, values);
}

describe('parseOutputTemplate', () => {
  it.each([
    ['{{nope}}', 'uses {{nope}}, which is not among the outputs'],
    ['{{#users}}{{nope}}{{/users}}', 'uses {{nope}}'],
    ['{{#users}}', 'never closes {{#users}}'],
    ['{{#users}}{{#users}}{{/users}}', 'never closes {{#users}}'],
    ['{{/users}}', 'closes {{/users}}, which is not the section that is open'],
    ['{{#users}}{{/other}}', 'closes {{/other}}'],
    ['{{3}}', 'uses {{3}}'],
    ['{{}}', 'uses {{}}'],
    ['{{users', "has '{{users' without }}"],
    ['{{users}', "has '{{users}' without }}"],
    ['{{! open', "has '{{! open' without }}"],
    // `pair` has two items.
    ['{{pair.2}}', 'uses {{pair.2}}'],
    ['{{pair.x}}', 'uses {{pair.x}}'],
    ['{{users.0.nope}}', 'uses {{users.0.nope}}'],
  ])('refuses %s', (template, sentence) => {
    const outputs = outputsOf('(string name, uint256 age)[] users, int8[2] pair');
    expect(() => parseOutputTemplate(template, outputs)).toThrow(AbiDefinitionError);
    expect(() => parseOutputTemplate(template, outputs)).toThrow(sentence);
  });

  it('reads 10,000 characters and refuses one more', () => {
    expect(parseOutputTemplate('x'.repeat(10_000), [])).toHaveLength(1);
    expect(() => parseOutputTemplate('x'.repeat(10_001), [])).toThrow('must have at most 10000 characters');
  });

  it.each(['{{{', '{{', '{{a', '{{ #'])('refuses %j and a long run of spaces in linear time', (start) => {
    const outputs = outputsOf('string a');
    const template = `${start}${' '.repeat(9_900)}`;
    expect(() => parseOutputTemplate(template, outputs)).toThrow(AbiDefinitionError);
    expect(soleReference(template, outputs)).toBeUndefined();
  });
});

describe('renderTemplate', () => {
  it.each<[string, string, AbiValue[], string, string]>([
    ['by the innermost name', 'string name, (string name) u', ['out', ['in']], '{{#u}}{{name}}{{/u}}', 'in'],
    [
      'by a name of an outer scope',
      'string who, (string name)[] u',
      ['Bo', [['Ann']]],
      '{{#u}}{{name}}+{{who}}{{/u}}',
      'Ann+Bo',
    ],
    // The inner scope knows the name, so the outer list is not used although the inner one is too short.
    [
      'as nothing when the inner list is too short',
      'uint8[] n, (uint8[] n) u',
      [[1n], [[]]],
      '<{{#u}}{{n.0}}{{/u}}>',
      '<>',
    ],
    ['by a number when there is no name', '(bool, string) u', [[true, 'x']], '{{u.1}}{{0.0}}', 'xtrue'],
    ['without what a comment contains', 'bool ok', [true], 'a{{! {{x}} and }b{{!\n}}c', 'a and }bc'],
    ['as text with single braces', 'bool ok', [true], '{ok} {{ok}} }}', '{ok} true }}'],
  ])('finds a value %s', (_name, types, values, template, expected) => {
    expect(rendered(types, values, template)).toBe(expected);
  });

  it.each<[string, AbiValue, boolean]>([
    ['bool', false, false],
    ['bool', true, true],
    ['uint8', 0n, false],
    ['uint8', 1n, true],
    ['string', '', false],
    ['string', '0', true],
    ['bytes', '0x', false],
    ['bytes', '0x00', true],
    ['uint8[]', [], false],
    ['uint8[]', [0n], true],
  ])('of %s %s renders a section: %s, and the inverted one otherwise', (type, value, isShown) => {
    expect(rendered(`${type} x`, [value], '{{#x}}yes{{/x}}{{^x}}no{{/x}}')).toBe(isShown ? 'yes' : 'no');
  });

  it('of nested lists renders each item with {{.}}', () => {
    expect(rendered('uint8[][] n', [[[1n, 2n], [], [3n]]], '{{#n}}({{#.}}{{.}};{{/.}}){{/n}}')).toBe(
      '(1;2;)()(3;)',
    );
  });

  it('of sections within sections ends after a million characters and parts', () => {
    const list = Array.from({ length: 2_000 }, () => 1n);
    const template = '{{#n}}{{#n}}{{#n}}{{#n}}xxxxxxxxxx{{/n}}{{/n}}{{/n}}{{/n}}';
    const text = rendered('uint256[] n', [list], template);
    expect(text.length).toBeGreaterThan(100_000);
    expect(text.length).toBeLessThanOrEqual(1_000_010);
  });
});

describe('soleReference', () => {
  const outputs = outputsOf('bytes chart, (bytes small)[] more, bytes');

  it.each([
    ['{{chart}}', ['chart']],
    [' {{ more.0.small }}\n', ['more', '0', 'small']],
    ['{{2}}', ['2']],
  ])('of %j is the path and the type', (text, path) => {
    expect(soleReference(text, outputs)).toEqual({ path, type: { kind: 'bytes' } });
  });

  it.each([
    '',
    'chart',
    'a {{chart}}',
    '{{chart}}{{chart}}',
    '{{#more}}',
    '{{.}}',
    '{{nope}}',
    '{{}}',
    '{{9}}',
  ])('of %j is undefined', (text) => {
    expect(soleReference(text, outputs)).toBeUndefined();
  });
});

describe('a value at a path', () => {
  const outputs = outputsOf('string title, (bytes small, uint8[] n)[] more');
  const values: AbiValue[] = [
    'T',
    [
      ['0x01', [1n, 2n]],
      ['0x02', []],
    ],
  ];

  it('is found, and is undefined where a list is too short', () => {
    expect(outputAt(['more', '1', 'small'], outputs, values)).toBe('0x02');
    expect(outputAt(['more', '0', 'n', '1'], outputs, values)).toBe(2n);
    expect(outputAt(['more', '1', 'n', '0'], outputs, values)).toBeUndefined();
    expect(outputAt(['more', '2', 'small'], outputs, values)).toBeUndefined();
  });

  it('is replaced in a copy', () => {
    const before = structuredClone(values);
    expect(withOutputAt(['more', '0', 'small'], outputs, values, '<x>')).toEqual([
      'T',
      [
        ['<x>', [1n, 2n]],
        ['0x02', []],
      ],
    ]);
    expect(values).toEqual(before);
  });

  it('changes nothing where there is none', () => {
    expect(withOutputAt(['more', '5', 'small'], outputs, values, '<x>')).toEqual(values);
    expect(withOutputAt(['nope'], outputs, values, '<x>')).toEqual(values);
  });
});
