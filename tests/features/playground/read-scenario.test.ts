import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readScenario, sentenceOfProblem } from '../../../router/src/features/playground/scenario.ts';
import { repositoryRoot } from '../../support/repository.ts';

const problemsOf = async (text: string) => {
  const read = await readScenario(text);
  return 'problems' in read ? read.problems.map((problem) => sentenceOfProblem(problem).sentence) : [];
};

const EXAMPLES = join(repositoryRoot, 'examples/scenarios');

describe('readScenario', () => {
  it('reads the scenario of the documentation', async () => {
    const text = 'steps: [{as: "+5493777239922", say: hola}, {expect: {contains: hello, withinMs: 5000}}]';
    expect(await readScenario(text)).toEqual({
      scenario: {
        steps: [{ as: '+5493777239922', say: 'hola' }, { expect: { contains: 'hello', withinMs: 5000 } }],
      },
    });
  });

  it.each(readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml')))('reads %s', async (name) => {
    expect(await problemsOf(readFileSync(join(EXAMPLES, name), 'utf8'))).toEqual([]);
  });

  it.each([
    ['steps:\n  - {as: Ana, say: x, colour: red}', 'line 2: steps.0.colour is not a known word'],
    ['steps:\n  - {as: Ana, say: x}\n  - {}', `line 3: steps.1 must have one of`],
    ['steps:\n  - {as: Ana, say: x, silence: 5}', 'line 2: steps.0 must have one of'],
    ['steps:\n  - {say: x}', 'line 2: steps.0.as is missing; who writes?'],
    ['steps: []', 'line 1: steps must have a step'],
    ['name: x', 'line 1: steps is missing'],
    ['steps: 5', 'line 1: steps must be a list'],
    ['- 1', 'line 1: the scenario must be a list of names and values'],
    ['steps:\n  - as: Ana\n    say: [1]', 'line 3: steps.0.say must be a text'],
    [
      'steps:\n  - {as: A, say: x}\n  - expect:\n      withinMs: 0',
      'line 4: steps.1.expect.withinMs must be',
    ],
    [
      'steps:\n  - {as: A, say: x}\n  - expect: {matches: "("}',
      'line 3: steps.1.expect.matches is not a valid pattern: ',
    ],
    [
      'steps:\n  - {as: A, say: x}\n  - expect: {reaction: a, contains: b}',
      'line 3: steps.1.expect.reaction',
    ],
    ['steps:\n  - {as: A, silence: 5, mention: true}', 'line 2: steps.0.mention belongs to say or send'],
    ['steps:\n  - {as: A, send: {kind: image}}', 'line 2: steps.0.send must'],
    ['steps: [\n  - x', 'is not YAML'],
    ['a: &a [*a, *a]\nb: *z', 'is not YAML'],
  ])('names the line: %j', async (text, sentence) => {
    expect((await problemsOf(text)).join('\n')).toContain(sentence);
  });
});
