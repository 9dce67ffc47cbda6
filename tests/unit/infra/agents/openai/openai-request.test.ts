import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import type { PastTurn } from '../../../../../router/src/core/ports/message-log.ts';
import { requestBody, shownBody } from '../../../../../router/src/infra/agents/openai/openai-agent-client.ts';

const message: IncomingMessage = {
  id: 'm',
  from: '5491112345678@s.whatsapp.net',
  channelId: '5491112345678',
  text: 'and now?',
  timestamp: new Date(0),
};
const history: PastTurn[] = [
  { sender: '71', pushName: 'Ana\nB', kind: 'text', text: 'one', replies: [{ text: 'a' }, { text: 'b' }] },
  { sender: '4917212345', kind: 'image', text: '', replies: [{ text: '', media: 'document' }] },
];
const body = (settings: object, changes: Partial<IncomingMessage> = {}, image?: string, past = history) =>
  requestBody(
    'chat',
    { model: 'gpt', facts: false, ...settings },
    { message: { ...message, ...changes }, history: past, ...(image && { image }) },
    'max_tokens',
  );

describe('requestBody of chat completions', () => {
  it('contains the system text, the conversation in order and the message', () => {
    expect(body({ system: 'Be kind.', maxTokens: 50, temperature: 0 })).toEqual({
      model: 'gpt',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'a\n\nb' },
        { role: 'user', content: '[image]' },
        { role: 'assistant', content: '[document]' },
        { role: 'user', content: 'and now?' },
      ],
      max_tokens: 50,
      temperature: 0,
      stream: false,
    });
  });

  it('names who wrote in a group, without a number', () => {
    const group = { isGroup: true, channelId: '1203@g.us', pushName: 'Bo' };
    const said = (body({}, group).messages as Array<{ content: string }>).map(({ content }) => content);
    expect(said).toEqual(['"Ana B": one', 'a\n\nb', '"Member 2345": [image]', '[document]', 'and now?']);
    expect(JSON.stringify(body({}, { ...group, pushName: undefined }))).not.toContain('5491112345678');
  });

  it('tells the model about the message in the system text, and leaves the words as written', () => {
    const group = { isGroup: true, channelId: '1203@g.us', pushName: 'Bo', subject: 'Tennis' };
    const quoting = { ...group, quotedText: 'x', quotedFrom: { id: '1@lid', name: 'Ana' } };
    const [system, user] = body({ facts: true, system: 'Be kind.' }, quoting, undefined, [])
      .messages as Array<{
      role: string;
      content: string;
    }>;
    expect(user).toEqual({ role: 'user', content: 'and now?' });
    const [instructions, known = ''] = system?.content.split('\n\n') ?? [];
    expect(instructions).toBe('Be kind.');
    expect(JSON.parse(known.slice(known.indexOf('{')))).toMatchObject({
      name: 'Bo',
      number: '5491112345678',
      chat: 'group',
      subject: 'Tennis',
      quoted: { text: 'x', id: '1@lid', name: 'Ana' },
    });
    expect(body({ facts: true }, {}, undefined, []).messages).toMatchObject([
      { role: 'system' },
      { role: 'user' },
    ]);
  });

  it('spells the limit of tokens as asked', () => {
    const asked = requestBody(
      'chat',
      { model: 'gpt', facts: false, maxTokens: 5 },
      { message, history: [] },
      'max_completion_tokens',
    );
    expect(asked).toMatchObject({ max_completion_tokens: 5 });
    expect(asked).not.toHaveProperty('max_tokens');
  });
});

describe('shownBody', () => {
  it('shortens pictures', () => {
    const shown = JSON.stringify(shownBody(body({}, {}, `data:image/png;base64,${'A'.repeat(1_000)}`)));
    expect(shown).toContain('data:image/png;base64,AAAA');
    expect(shown.length).toBeLessThan(600);
  });
});
