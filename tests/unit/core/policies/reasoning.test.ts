import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutReasoning } from '../../../../router/src/core/policies/reasoning.ts';

const spokenText = (text: string) => withoutReasoning(text).text.trim();

describe('withoutReasoning', () => {
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
    ['a prefix of MiniMax', '<mm:think>rude</mm:think>Hello.', 'Hello.'],
    ['another name', '<thought>rude</thought>\n\nHello.', 'Hello.'],
    ['one line after a sentence', 'Sure. <think> rude </think> Hello.', 'Sure. Hello.'],
    ['a channel of Gemma', '<|channel>thought\nrude<channel|>Hello.', 'Hello.'],
    ['the mark of Kimi', '◁think▷rude◁/think▷Hello.', 'Hello.'],
    ['the mark of Cohere', '<|START_THINKING|>rude<|END_THINKING|>Hello.', 'Hello.'],
    ['thoughts of OpenThinker', '<|begin_of_thought|>rude<|end_of_thought|>Hello.', 'Hello.'],
    ['a call of a tool', 'Hello.\n<tool_call>\n{"name":"x"}\n</tool_call>', 'Hello.'],
    ['calls in other forms', '<minimax:tool_call>x</minimax:tool_call>Hi <function=find>{}</function>', 'Hi'],
    ['calls of DeepSeek', 'Hi<｜tool▁calls▁begin｜>x<｜tool▁calls▁end｜>', 'Hi'],
    ['calls of Mistral', 'Hi\n[TOOL_CALLS][{"name":"x"}]', 'Hi'],
    [
      'a folded block',
      '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n> rude\n</details>\nHello.',
      'Hello.',
    ],
    ['channels without their tokens', 'analysisThe person is rude.assistantfinalHello.', 'Hello.'],
    ['the token that ends an answer', 'Hello.<|im_end|>\n</s>', 'Hello.'],
    ['code within reasoning', '<think>a `</b>` and\n```\nx\n</think>\nHello `x`.', 'Hello `x`.'],
    ['a fence that does not end', 'See\n```\n<think>rude', 'See\n```'],
    [
      'other elements',
      '<b>think</b> about <thinker>it</thinker>',
      '<b>think</b> about <thinker>it</thinker>',
    ],
  ])('reads %s', (_case, text, spoken) => {
    expect(spokenText(text)).toBe(spoken);
  });

  it.each([
    'Put the plan between `<think>` and `</think>`.',
    'The <think> and </think> tags mark reasoning.',
    'A block ends with </think>.',
    'Mistral writes [THINK] first, "</think>" is of others.',
    '```xml\n<think>\nplan\n</think>\n```\nThat is the form.',
    '~~~\n<tool_call>\n{}\n</tool_call>\n~~~\nThat is the form.',
    'Harmony separates `<|channel|>analysis<|message|>` and `<|channel|>final<|message|>`.',
    '<details><summary>More</summary>text</details>',
    '| <think> | begins |\n| </think> | ends |',
    'analysis of the year: it was good',
    'The token `<|im_end|>` ends a turn, `</s>` too.',
  ])('shows an answer about the marks whole: %j', (text) => {
    expect(withoutReasoning(text)).toEqual({ text, count: 0 });
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
    ['`<think>', '`<think>'.repeat(200_000).slice(0, -'<think>'.length)],
    ['<|channel|>analysis<|message|>', ''],
    ['◁think▷', ''],
    ['` `` ```\n', '` `` ```\n'.repeat(200_000).trim()],
    ['~~~x\n', '~~~x\n'.repeat(200_000).trim()],
    ['</s>', ''],
  ])('reads a long text of %s in a time in proportion to its length', (part, spoken) => {
    // A quadratic search would take longer than the test may.
    expect(spokenText(part.repeat(200_000)) === spoken).toBe(true);
  });
});
