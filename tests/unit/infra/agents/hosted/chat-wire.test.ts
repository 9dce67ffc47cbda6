import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import {
  chatAnswer,
  chatRequest,
  historyOf,
} from '../../../../../router/src/infra/agents/hosted/hosted-talk.ts';

const message = {
  id: '3EB0 1',
  from: '5493777239922@s.whatsapp.net',
  channelId: '5493777239922',
  text: 'hello',
  timestamp: new Date(0),
  pushName: 'Ana',
};

describe('chatRequest', () => {
  it('has the text, the session and the id of the message', () => {
    expect(chatRequest('chat', message)).toMatchObject({
      path: '/chat',
      headers: { 'idempotency-key': '3EB0_1' },
      body: { message: 'hello', message_id: '3EB0 1', name: 'Ana' },
    });
  });

  it('has a session of at least 33 characters for AgentCore', () => {
    const { path, headers, body } = chatRequest('agentcore', message);
    expect(path).toBe('/invocations');
    expect(body.prompt).toBe('hello');
    expect(headers['x-amzn-bedrock-agentcore-runtime-session-id']?.length).toBeGreaterThanOrEqual(33);
  });
});

const answer = (type: string, body: string) => ({
  headers: new Headers(type === '' ? {} : { 'content-type': type }),
  body: Buffer.from(body),
});

describe('chatAnswer', () => {
  it.each([
    ['application/json', '{"response":"one"}', 'one'],
    ['application/json', '{"status":"success","message":"two"}', 'two'],
    ['application/json', '"three"', 'three'],
    ['application/json', '{"output":[{"text":"fo"},{"text":"ur"}]}', 'four'],
    ['application/json', '{"message":{"role":"assistant","content":[{"text":"five"}]}}', 'five'],
    ['text/plain', 'six', 'six'],
    ['text/event-stream', 'data: "se"\n\ndata: {"text":"ven"}\n\ndata: [DONE]\n\n', 'seven'],
    ['application/json', '{"response":""}', undefined],
    ['application/json', '', undefined],
  ])('reads %s %s', (type, body, text) => {
    expect(chatAnswer(answer(type, body))).toBe(text);
  });

  it.each([
    ['application/json', '{"answer":"x"}', 'its fields are: answer'],
    ['application/json', '{', 'cannot be parsed'],
    ['text/html', '<!doctype html><p>x</p>', 'a web page'],
  ])('refuses %s %s', (type, body, sentence) => {
    expect(() => chatAnswer(answer(type, body))).toThrow(AgentProtocolError);
    expect(() => chatAnswer(answer(type, body))).toThrow(sentence);
  });
});

describe('historyOf', () => {
  const said = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ];

  it.each([
    ['a list', said],
    ['messages', { messages: said }],
    [
      'history',
      {
        history: [
          { role: 'user', text: 'one' },
          { role: 'bot', content: 'two' },
        ],
      },
    ],
    [
      'blocks of Strands, with a call of a tool',
      {
        messages: [
          { message: { role: 'user', content: [{ text: 'one' }] }, message_id: 0 },
          { message: { role: 'assistant', content: [{ toolUse: { name: 'shell' } }] }, message_id: 1 },
          { message: { role: 'user', content: [{ toolResult: { status: 'success' } }] }, message_id: 2 },
          { message: { role: 'assistant', content: [{ text: 'two' }] }, message_id: 3 },
        ],
      },
    ],
    [
      'events of ADK, with a call of a tool',
      {
        events: [
          { author: 'user', content: { role: 'user', parts: [{ text: 'one' }] } },
          { author: 'a', content: { role: 'model', parts: [{ functionCall: { name: 'look' } }] } },
          { author: 'a', content: { role: 'user', parts: [{ functionResponse: { name: 'look' } }] } },
          { author: 'a', actions: {} },
          { author: 'a', content: { role: 'model', parts: [{ text: 't' }, { text: 'wo' }] } },
        ],
      },
    ],
    ['other roles', { messages: [{ role: 'system', content: 'be kind' }, ...said, 'noise', null] }],
  ])('reads %s', (_, value) => {
    expect(historyOf(JSON.stringify(value), 10)).toEqual(said);
  });

  it('has the newest messages', () => {
    expect(historyOf(JSON.stringify(said), 1)).toEqual([{ role: 'assistant', content: 'two' }]);
  });

  it.each(['', 'not JSON', '{}', '{"messages": 1}'])('refuses %j', (body) => {
    expect(() => historyOf(body, 1)).toThrow('without a list of its messages');
  });
});
