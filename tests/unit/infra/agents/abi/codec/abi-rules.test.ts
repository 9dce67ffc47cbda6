import { describe, expect, it } from 'vitest';
import type { AbiSettings } from '../../../../../../router/src/infra/agents/abi/abi-settings.ts';
import {
  abiSettingsProblems,
  rulesOf,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';
import { renderTemplate } from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';
import type { SettingsProblem } from '../../../../../../router/src/infra/agents/agent-kind.ts';
import { specificationFunctions } from '../../../../../fixtures/abi-echo-types.js';

/** Mistakes as the API shows them. */
function shown(problems: readonly SettingsProblem[]) {
  return problems.map(({ field, said }) => ({ field, message: said.sentence }));
}

async function rules(config: Partial<AbiSettings>, entries: readonly unknown[] = specificationFunctions) {
  const result = await rulesOf(entries, config);
  if (!result.ok)
    throw new Error(
      shown(result.problems)
        .map(({ field, message }) => `${field} ${message}`)
        .join('; '),
    );
  return result.rules;
}

async function problems(config: Partial<AbiSettings>, entries: readonly unknown[] = specificationFunctions) {
  const result = await rulesOf(entries, config);
  return result.ok ? [] : shown(result.problems);
}

describe('the rules of a route', () => {
  it('have no function for text when the settings name none', async () => {
    expect(await rules({})).not.toHaveProperty('target');
    expect((await rules({ function: 'add' })).target?.signature).toBe('add(uint256,uint256)');
  });

  it('use the only function for templates', async () => {
    const { output, file, abi } = await rules({ output: '{{0}}!', args: ['{{text}}'] }, [
      'f(string) returns (bool)',
    ]);
    expect(file).toBeUndefined();
    expect(renderTemplate(output ?? [], abi.functions[0]?.outputs ?? [], [true])).toBe('true!');
  });

  it('have a file template instead of an output template when the reply is a file', async () => {
    const made = await rules({ output: { image: '{{0}}' } }, ['f() returns (bytes)']);
    expect(made.file).toMatchObject({ kind: 'image', path: ['0'] });
    expect(made.output).toBeUndefined();
  });
});

describe('problems of the settings', () => {
  it('name each broken function, and nothing that depends on the functions', async () => {
    expect(
      await problems({ function: 'nope', args: ['{{nope}}'] }, ['f(uint7 a)', 'g()', 'h(uint9 a)']),
    ).toEqual([
      { field: 'functions[0]', message: "'uint7' is not an ABI type" },
      { field: 'functions[2]', message: "'uint9' is not an ABI type" },
    ]);
  });

  it('are reported for several fields at once', async () => {
    const found = await problems({ function: 'greet', args: ['{{nope}}', 'x{{media}}'], output: '{{nope}}' });
    expect(found.map(({ field }) => field)).toEqual(['args', 'args', 'output']);
  });

  it('do not ask for a function when the one that is named does not exist', async () => {
    expect((await problems({ function: 'nope', args: [], output: 'x' })).map(({ field }) => field)).toEqual([
      'function',
    ]);
  });

  it.each([[{ args: [] }], [{ output: 'x' }], [{ output: { image: '{{0}}' } }]])(
    'ask for a function when there are several and %j is for one',
    async (config) => {
      expect(await problems(config)).toEqual([
        { field: 'function', message: 'is missing: a template is for one function, and there are 5' },
      ]);
    },
  );

  it('are not looked for in an ABI behind a URL', async () => {
    expect(await abiSettingsProblems({ functions: 'http://agent/abi.json', function: 'nope' })).toEqual([]);
    expect(shown(await abiSettingsProblems({ functions: ['f()'], function: 'nope' }))).toEqual([
      { field: 'function', message: "names 'nope', which is not among the functions" },
    ]);
  });
});

describe('argument templates', () => {
  it.each([
    [{ args: ['{{text}}'] }, 'function', 'is missing: a template is for one function, and there are 5'],
    [
      { function: 'add', args: ['{{text}}'] },
      'args',
      'does not fit add(uint256,uint256): the input must have 2 values, got 1',
    ],
    [
      { function: 'add', args: ['{{text}}', '{{from}}'] },
      'args',
      /^does not fit .*: b must be a whole number/,
    ],
    [{ function: 'add', args: [1, '{{channelId}}'] }, 'args', /b must be a whole number/],
    [{ function: 'add', args: [1, 2 ** 60] }, 'args', /write large numbers as text/],
    [
      { function: 'greet', args: ['{{sender}}'] },
      'args',
      /^uses \{\{sender\}\}; the variables are text, from, /,
    ],
    [{ function: 'greeet' }, 'function', /not among the functions/],
    [{ function: 'add', output: 'is {{total}}' }, 'output', 'uses {{total}}, which is not among the outputs'],
    [{ function: 'add', output: '{{#sum}}' }, 'output', 'never closes {{#sum}}'],
    [{ function: 'add', output: 'is {{sum' }, 'output', "has '{{sum' without }}"],
    [{ function: 'greet', args: ['Dear {{text'] }, 'args', "has '{{text' without }}"],
    [
      { function: 'greet', args: ['{{#text}}'] },
      'args',
      /^uses \{\{#text\}\}; the variables are text, from, /,
    ],
    [{ function: 'greet', args: ['{{user.name}}'] }, 'args', /^uses \{\{user\.name\}\}; the variables are /],
  ])('are checked when they are saved: %j', async (config, field, sentence) => {
    const result = await rulesOf(specificationFunctions, config as Partial<AbiSettings>);
    expect(result.ok ? [] : shown(result.problems)).toEqual([
      { field, message: typeof sentence === 'string' ? sentence : expect.stringMatching(sentence) },
    ]);
  });

  it('accept fields that are known only when a message arrives', async () => {
    for (const args of [['{{text}}', 5], ['{{timestamp}}', '0x10'], { a: '1', b: '{{quotedText}}' }]) {
      expect((await rulesOf(specificationFunctions, { function: 'add', args })).ok).toBe(true);
    }
  });

  it.each([
    [['function f(string a)'], ['{{media}}'], "args does not fit f(string): a must be text, got 'a file'"],
    [['function f(uint256 a)'], ['{{media}}'], 'args does not fit f(uint256): a must be a whole number'],
    [['function f(string a)'], ['see {{media}}'], 'args puts {{media}} into other text; use it alone'],
    [['function f(bytes[] a)'], ['{{media}}'], 'args does not fit f(bytes[]): a must be a list'],
  ])('that are a file are refused when they do not fit %j: %j', async (functions, args, sentence) => {
    await expect(rules({ args }, functions)).rejects.toThrow(sentence);
  });
});
