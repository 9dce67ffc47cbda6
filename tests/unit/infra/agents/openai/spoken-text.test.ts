import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spokenText } from '../../../../../router/src/infra/agents/openai/spoken-text.ts';

describe('spokenText', () => {
  it.each([
    ['a plain answer', ' Hello.\n', 'Hello.'],
    ['a block before the answer', '<think>\nthe person is rude\n</think>\n\nHello.', 'Hello.'],
    ['several blocks', '<think>a</think>One. <THINKING>b</THINKING>Two.', 'One. Two.'],
    ['a block with attributes and a prefix', '<seed:think budget="5">a</seed:think>Hello.', 'Hello.'],
    ['a block within a block', '<think>a <think>b</think> c</think>Hello.', 'Hello.'],
    ['a block whose beginning is in the prompt', 'the person is rude\n</think>\nHello.', 'Hello.'],
    ['a block that does not end', 'Hello. <think>the person', 'Hello.'],
    ['nothing but reasoning', '<reasoning>the person', ''],
    ['brackets', '[THINK]the person[/THINK]Hello.', 'Hello.'],
    ['brackets whose beginning is in the prompt', 'the person[/THINK]Hello.', 'Hello.'],
    [
      'channels',
      '<|channel|>analysis<|message|>rude<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
      'Hello.',
    ],
    ['channels without an answer', '<|channel|>analysis<|message|>rude<|end|>', ''],
    [
      'other elements',
      '<b>think</b> about <thinker>it</thinker>',
      '<b>think</b> about <thinker>it</thinker>',
    ],
  ])('reads %s', (_case, text, spoken) => {
    expect(spokenText(text)).toBe(spoken);
  });

  it('never contains the reasoning of a block', () => {
    const word = fc.stringMatching(/^[a-z ]{1,20}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word), { maxLength: 5 }), (pairs) => {
        const text = pairs.map(([said]) => `<think>SECRET</think>${said}`).join('');
        expect(spokenText(text)).not.toContain('SECRET');
      }),
    );
  });

  it.each([
    ['<think', '<think'.repeat(200_000)],
    ['<think>', ''],
    ['</think>', ''],
    ['[THINK]', ''],
    ['<think><think ', ''],
  ])('reads a long text of %s in a time in proportion to its length', (part, spoken) => {
    // A quadratic search would take longer than the test may.
    expect(spokenText(part.repeat(200_000)) === spoken).toBe(true);
  });
});
