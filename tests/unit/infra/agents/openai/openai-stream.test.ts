import { describe, expect, it } from 'vitest';
import { OpenAiStream } from '../../../../../router/src/infra/agents/openai/openai-agent-client.ts';
import type { OpenAiApi } from '../../../../../router/src/infra/agents/openai/openai-settings.ts';

/** What is shown of these events, and the body of the whole answer. */
function read(events: unknown[], api: OpenAiApi = 'chat') {
  const shown: string[] = [];
  const stream = new OpenAiStream(api, (textSoFar) => shown.push(textSoFar()));
  for (const event of events) stream.add(typeof event === 'string' ? event : JSON.stringify(event));
  return { shown, body: stream.body === undefined ? undefined : JSON.parse(stream.body), stream };
}

const chunk = (delta: object, more: object = {}) => ({
  id: 'c1',
  model: 'gpt',
  choices: [{ index: 0, delta, ...more }],
});

describe('a stream of chat completions', () => {
  it('is the answer that the same request without a stream has', () => {
    const { shown, body } = read([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hello ' }),
      chunk({
        content: [
          { type: 'thinking', thinking: 'x' },
          { type: 'text', text: 'you' },
        ],
      }),
      chunk({}, { finish_reason: 'stop' }),
      { id: 'c1', choices: [], usage: { total_tokens: 7 } },
      '[DONE]',
    ]);
    expect(shown).toEqual(['Hello', 'Hello you']);
    expect(body).toEqual({
      id: 'c1',
      model: 'gpt',
      usage: { total_tokens: 7 },
      choices: [{ message: { content: 'Hello you' }, finish_reason: 'stop' }],
    });
  });

  it('shows no reasoning, wherever the server writes it', () => {
    const { shown } = read([
      chunk({ reasoning_content: 'secret' }),
      chunk({ content: '<think>sec' }),
      chunk({ content: 'ret</think>Hel' }),
      chunk({ content: 'lo' }),
    ]);
    expect(shown).toEqual(['', 'Hel', 'Hello']);
  });

  it('knows refusals, tools and errors', () => {
    expect(read([chunk({ refusal: 'I ' }), chunk({ refusal: 'may not.' }), '[DONE]']).body).toMatchObject({
      choices: [{ message: { content: '', refusal: 'I may not.' } }],
    });
    const call = (fields: object) => chunk({ tool_calls: [{ index: 0, function: fields }] });
    expect(
      read([call({ name: 'weather' }), call({ arguments: '{}' }), chunk({}, { finish_reason: 'tool_calls' })])
        .body,
    ).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: 'weather' } }] } }] });
    expect(read([chunk({ content: 'a' }), { error: { message: 'overloaded', code: 'x' } }]).body).toEqual({
      error: { message: 'overloaded', code: 'x' },
    });
  });

  it('has no answer when it ends early, and ignores what is no event', () => {
    expect(read([chunk({ content: 'a' }), 'nonsense', { other: 1 }]).body).toBeUndefined();
    expect(read([]).stream.isEmpty).toBe(true);
  });
});

describe('a stream of responses', () => {
  const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text });

  it('ends with the whole answer', () => {
    const response = { id: 'r1', status: 'completed', output: [] };
    const { shown, body } = read(
      [
        { type: 'response.created', response: { status: 'in_progress' } },
        { type: 'response.reasoning_summary_text.delta', delta: 'secret' },
        delta('Hello '),
        delta('you'),
        { type: 'response.completed', response },
      ],
      'responses',
    );
    expect(shown).toEqual(['Hello', 'Hello you']);
    expect(body).toEqual(response);
  });

  it('knows errors, and an answer that ends early', () => {
    const error = { type: 'error', code: 'server_error', message: 'it broke' };
    expect(read([delta('a'), error], 'responses').body).toEqual({
      error: { message: 'it broke', code: 'server_error' },
    });
    expect(read([delta('a'), '[DONE]'], 'responses').body).toBeUndefined();
  });
});
