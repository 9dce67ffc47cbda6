import { describe, expect, it } from 'vitest';
import {
  readModelAnswer,
  reportedErrorIn,
} from '../../../../../router/src/infra/agents/openai/openai-answer.ts';

const chat = (message: object, more: object = {}) =>
  readModelAnswer('chat', JSON.stringify({ choices: [{ message, finish_reason: 'stop', ...more }] }));
const responses = (output: object[], more: object = {}) =>
  readModelAnswer('responses', JSON.stringify({ status: 'completed', output, ...more }));

describe('readModelAnswer of chat completions', () => {
  it.each([
    ['a text', { content: 'Hello' }, 'Hello'],
    ['no content', { content: null }, ''],
    [
      'parts',
      {
        content: [
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo' },
        ],
      },
      'Hello',
    ],
    ['parts without a type', { content: [{ text: 'Hello' }] }, 'Hello'],
    ['texts as a list', { content: ['Hel', 'lo'] }, 'Hello'],
    ['a text in an object', { content: [{ type: 'text', text: { value: 'Hello' } }] }, 'Hello'],
    [
      'thoughts beside the text',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'rude' }] },
          { type: 'text', text: 'Hello' },
        ],
      },
      'Hello',
    ],
    [
      'reasoning beside the text',
      { content: 'Hello', reasoning: 'rude', reasoning_content: 'rude' },
      'Hello',
    ],
    ['parts of reasoning', { content: [{ type: 'reasoning', text: 'rude' }, { text: 'Hello' }] }, 'Hello'],
  ])('reads %s', (_case, message, text) => {
    const read = chat(message);
    expect(read).toMatchObject({ kind: 'answer', answer: { text, tools: [], finishReason: 'stop' } });
  });

  it('reads a refusal, of the message or of a part', () => {
    expect(chat({ content: null, refusal: 'I cannot.' })).toMatchObject({
      answer: { text: '', refusal: 'I cannot.' },
    });
    const part = { type: 'refusal', refusal: 'I cannot.' };
    expect(chat({ content: [part] })).toMatchObject({ answer: { text: '', refusal: 'I cannot.' } });
  });

  it('names the tools that the model wants to use', () => {
    const calls = { tool_calls: [{ id: 'c', function: { name: 'search', arguments: '{}' } }, 7] };
    expect(chat({ content: null, tool_calls: [calls.tool_calls[0]] })).toMatchObject({
      answer: { tools: ['search'] },
    });
    expect(chat({ content: '', function_call: { name: 'old' } })).toMatchObject({
      answer: { tools: ['old'] },
    });
    expect(chat({ content: 'Hello', ...calls })).toMatchObject({ answer: { text: 'Hello', tools: [] } });
  });

  it('reads usage, model and id, and ignores other forms of them', () => {
    const common = { id: 'c1', model: 'gpt-x', usage: { total_tokens: 5 } };
    const body = { choices: [{ message: { content: 'a' } }] };
    expect(readModelAnswer('chat', JSON.stringify({ ...body, ...common }))).toMatchObject({ answer: common });
    const odd = readModelAnswer('chat', JSON.stringify({ ...body, id: 7, usage: 'much', model: {} }));
    expect(odd).toEqual({ kind: 'answer', answer: { text: 'a', tools: [] } });
  });

  it.each([
    [
      'an object',
      '{"error":{"message":"too busy","code":429,"type":"rate"}}',
      { message: 'too busy', code: '429', type: 'rate' },
    ],
    ['a text', '{"error":"too busy"}', { message: 'too busy' }],
    ['a list', '[{"error":{"message":"too busy"}}]', { message: 'too busy' }],
    [
      'a choice',
      '{"choices":[{"message":{"content":""},"error":{"message":"too busy"}}]}',
      { message: 'too busy' },
    ],
  ])('reads an error in %s of a successful answer', (_case, body, error) => {
    expect(readModelAnswer('chat', body)).toEqual({ kind: 'error', error });
  });

  it.each([
    ['', 'is empty'],
    ['<!doctype html>', 'is a web page; check the address of the server'],
    ['data: {}\n\n', 'is a stream, though none was asked for'],
    ['hello', 'is not JSON'],
    ['7', 'is not the JSON object of this API'],
    ['{}', 'has no usable "choices"'],
    ['{"choices":[]}', 'has no usable "choices"'],
    ['{"choices":[{}]}', 'has no usable "choices.0.message"'],
    ['{"choices":[{"message":{"content":7}}]}', 'has no usable "choices.0.message.content"'],
  ])('says what is wrong with %j', (body, sentence) => {
    const problem = expect.objectContaining({ sentence, phrase: expect.anything() });
    expect(readModelAnswer('chat', body)).toEqual({ kind: 'unreadable', problem });
  });
});

describe('readModelAnswer of responses', () => {
  it('reads the texts of messages, and neither reasoning nor tools', () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'rude' }] },
      { type: 'function_call', name: 'search', arguments: '{}' },
      { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
    ];
    expect(responses(output)).toEqual({
      kind: 'answer',
      answer: { text: 'Hello', tools: ['search'], finishReason: 'stop', hasReasoning: true },
    });
  });

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ])('reads the end by %s', (reason, finishReason) => {
    const end = { status: 'incomplete', incomplete_details: { reason } };
    expect(responses([], end)).toMatchObject({ answer: { finishReason } });
  });

  it('reads a refusal and an error', () => {
    const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] };
    expect(responses([refusal])).toMatchObject({ answer: { refusal: 'I cannot.' } });
    expect(responses([], { error: { code: 'server_error', message: 'no' } })).toMatchObject({
      kind: 'error',
    });
    expect(responses([refusal], { error: null })).toMatchObject({ kind: 'answer' });
  });
});

describe('reportedErrorIn', () => {
  it.each([[undefined], [null], [{}], [{ error: null }], ['text'], [[]]])('finds no error in %j', (json) => {
    expect(reportedErrorIn(json)).toBeUndefined();
  });
});
