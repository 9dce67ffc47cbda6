import nock from 'nock';
import { describe, expect, it } from 'vitest';
import type { AttemptOptions, HistoryLimits } from '../../../../../router/src/core/agent-client.ts';
import {
  AgentUncertainError,
  MediaError,
  StorageUnavailableError,
} from '../../../../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import { OpenAiAgentClient } from '../../../../../router/src/infra/agents/openai/openai-agent-client.ts';
import type { OpenAiSettings } from '../../../../../router/src/infra/agents/openai/openai-settings.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { aMessage } from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';
import { quietLog, recordingLog } from '../../../../support/quiet-log.ts';

mockNetwork();

const url = 'http://model.test';
const picture = { kind: 'image' as const, mimeType: 'image/jpeg' };

function aClient(settings: Partial<OpenAiSettings> = {}, clock = new FakeClock(), log = quietLog) {
  const openai = { model: 'gpt', facts: false, apiKey: 'sk-top-secret-key', ...settings };
  return new OpenAiAgentClient({ openai, timeoutMs: 1_000, log, clock, transport: new AgentTransport() });
}

const completion = (content: unknown, more: object = {}) => ({
  choices: [{ message: { content }, finish_reason: 'stop', ...more }],
});

/** Sends one message to a server with these answers; returns the answer and the bodies it received. */
async function ask(
  answers: Array<[status: number, body: unknown, headers?: Record<string, string>]>,
  given: {
    settings?: Partial<OpenAiSettings>;
    message?: Partial<IncomingMessage>;
    options?: AttemptOptions;
    path?: string;
  } = {},
) {
  const bodies: Array<Record<string, unknown>> = [];
  for (const [status, body, headers] of answers) {
    nock(url)
      .post(given.path ?? '/v1/chat/completions', (sent) => bodies.push(sent) > 0)
      .reply(status, body as nock.Body, headers);
  }
  const client = aClient(given.settings);
  const response = client.sendMessage(url, aMessage(given.message), given.options);
  return { response: await response, bodies };
}

describe('OpenAiAgentClient', () => {
  it('returns the text of the model without reasoning', async () => {
    const answer = completion('<think>rude</think>Hello!', {
      message: { content: '<think>rude</think>Hello!', reasoning: 'rude' },
    });
    const { response } = await ask([
      [200, { id: 'c1', model: 'gpt-1', usage: { total_tokens: 9 }, ...answer }],
    ]);
    expect(response).toEqual({
      success: true,
      response: 'Hello!',
      metadata: { openai: { model: 'gpt-1', finishReason: 'stop', usage: { total_tokens: 9 }, id: 'c1' } },
      detail: { openai: { model: 'gpt-1', finishReason: 'stop', usage: { total_tokens: 9 }, id: 'c1' } },
    });
  });

  it('sends the key, the conversation that the route asks for, and the message', async () => {
    const asked: HistoryLimits[] = [];
    const loadHistory: AttemptOptions['loadHistory'] = async (limits) => {
      asked.push(limits);
      return [{ sender: '1', kind: 'text', text: 'one', replies: [{ text: 'first' }] }];
    };
    nock(url, {
      reqheaders: { authorization: 'Bearer sk-top-secret-key', 'content-type': 'application/json' },
    })
      .post('/v1/chat/completions', (sent) => {
        expect(sent.messages.map(({ content }: { content: string }) => content)).toEqual([
          'one',
          'first',
          'Hello',
        ]);
        return true;
      })
      .reply(200, completion('ok'));
    await aClient({ historyTurns: 3 }).sendMessage(url, aMessage(), { loadHistory });
    expect(asked).toEqual([{ turns: 3, maxChars: 32_000 }]);
    expect(nock.isDone()).toBe(true);
  });

  it('reads no conversation with historyTurns 0', async () => {
    const loadHistory = () => Promise.reject(new Error('read'));
    const { bodies } = await ask([[200, completion('ok')]], {
      settings: { historyTurns: 0 },
      options: { loadHistory },
    });
    expect(bodies[0]?.messages).toHaveLength(1);
  });

  it('passes on that the conversation cannot be read, and sends nothing', async () => {
    const loadHistory = () => Promise.reject(new StorageUnavailableError({ sentence: 'gone' }));
    await expect(aClient().sendMessage(url, aMessage(), { loadHistory })).rejects.toThrow(
      StorageUnavailableError,
    );
  });

  it('uses the API responses, with its own address', async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hello!' }] }];
    const { response, bodies } = await ask([[200, { status: 'completed', output }]], {
      settings: { api: 'responses', baseUrl: `${url}/v1` },
      path: '/v1/responses',
    });
    expect(response.response).toBe('Hello!');
    expect(bodies[0]).toMatchObject({ input: [{ role: 'user', content: 'Hello' }], store: false });
  });

  it('sends a refusal of the model to the person', async () => {
    const { response } = await ask([
      [200, completion(null, { message: { content: null, refusal: 'I cannot.' } })],
    ]);
    expect(response).toMatchObject({ response: 'I cannot.', metadata: { openai: { isRefusal: true } } });
  });

  it('marks a text that the limit of tokens cut', async () => {
    const { response } = await ask([[200, completion('Once upon', { finish_reason: 'length' })]]);
    expect(response).toMatchObject({
      response: 'Once upon …',
      metadata: { openai: { finishReason: 'length' } },
    });
  });

  it.each([
    [
      'used all tokens',
      completion('<think>so', { finish_reason: 'length' }),
      /Raise config\.openai\.maxTokens/,
    ],
    [
      'wants a tool',
      completion(null, { message: { content: null, tool_calls: [{ function: { name: 'search' } }] } }),
      /use a tool \(search\).*offers no tools/,
    ],
    [
      'wrote reasoning only, beside the text,',
      completion(null, { message: { content: '', reasoning_content: 'rude' } }),
      /only reasoning/,
    ],
    ['wrote reasoning only', completion('<think>rude</think>'), /only reasoning/],
    ['wrote nothing', completion('  '), /wrote nothing: no text, no tool call and no refusal/],
    ['had no content', completion(null), /wrote nothing/],
    ['was filtered', completion('', { finish_reason: 'content_filter' }), /content filter removed/],
  ])('fails with AGENT_NO_TEXT when the model %s before it wrote a text', async (_case, body, sentence) => {
    const failed = expect(ask([[200, body]])).rejects;
    await failed.toMatchObject({
      code: 'AGENT_NO_TEXT',
      disposition: 'dead',
      message: expect.stringMatching(sentence),
    });
  });

  it('fails with an error that a successful answer contains', async () => {
    await expect(ask([[200, { error: { message: 'busy', code: 502 } }]])).rejects.toMatchObject({
      code: 'AGENT_UNAVAILABLE',
      message: 'The model server at http://model.test/v1 answered status 502: busy.',
    });
  });

  it('sends again what may have run, unless the route forbids it', async () => {
    const { response } = await ask([[200, completion('ok')]], {
      options: { isRepeat: true, uncertain: 'retry' },
    });
    expect(response.response).toBe('ok');
    const forbidden = ask([], { options: { isRepeat: true, uncertain: 'dead-letter' } });
    await expect(forbidden).rejects.toThrow(AgentUncertainError);
  });

  describe('with a limit of tokens', () => {
    const refusal = { error: { message: "Use 'max_completion_tokens' instead.", param: 'max_tokens' } };

    it('learns the spelling that the server wants', async () => {
      const bodies: unknown[] = [];
      const answers = [
        [400, refusal],
        [200, completion('one')],
        [200, completion('two')],
      ] as const;
      for (const [status, body] of answers)
        nock(url)
          .post('/v1/chat/completions', (sent) => bodies.push(sent) > 0)
          .reply(status, body);
      const client = aClient({ maxTokens: 9 });
      expect((await client.sendMessage(url, aMessage())).response).toBe('one');
      expect((await client.sendMessage(url, aMessage())).response).toBe('two');
      expect(bodies).toMatchObject([
        { max_tokens: 9 },
        { max_completion_tokens: 9 },
        { max_completion_tokens: 9 },
      ]);
    });

    it('reports the first refusal when the other spelling does not help', async () => {
      const failed = ask(
        [
          [400, refusal],
          [400, { error: { message: 'no' } }],
        ],
        { settings: { maxTokens: 9 } },
      );
      await expect(failed).rejects.toThrow("status 400: Use 'max_completion_tokens' instead.");
    });

    it('uses the new spelling for servers of OpenAI', async () => {
      nock('https://api.openai.com')
        .post('/v1/chat/completions', (sent) => sent.max_completion_tokens === 9)
        .reply(200, completion('ok'));
      expect(
        (await aClient({ maxTokens: 9 }).sendMessage('https://api.openai.com', aMessage())).response,
      ).toBe('ok');
    });
  });

  describe('with pictures', () => {
    const loadMedia = async () => new Uint8Array([1, 2, 3]);

    it('sends a picture as a data URL', async () => {
      const { bodies } = await ask([[200, completion('a cat')]], {
        settings: { images: true },
        message: { text: '', media: { ...picture, mimeType: 'image/jpeg; charset=x' } },
        options: { loadMedia },
      });
      expect(bodies[0]?.messages).toEqual([
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AQID' } }] },
      ]);
    });

    it('sends only the text of a message with another file, or when the setting forbids pictures', async () => {
      const voice = { kind: 'voice' as const, mimeType: 'audio/ogg' };
      for (const [settings, media] of [
        [{ images: true }, voice],
        [{ images: false }, picture],
      ] as const) {
        const { bodies } = await ask([[200, completion('ok')]], {
          settings,
          message: { media },
          options: { loadMedia },
        });
        expect(bodies[0]?.messages).toEqual([{ role: 'user', content: 'Hello' }]);
      }
    });

    it('takes a picture without text, and no other file', async () => {
      const takes = (settings: Partial<OpenAiSettings>, media?: IncomingMessage['media']) =>
        aClient(settings).takesFile(aMessage({ media }));
      expect(await takes({ images: true }, picture)).toBe(true);
      expect(await takes({ images: true }, { kind: 'sticker', mimeType: 'image/webp' })).toBe(false);
      expect(await takes({ images: true }, { kind: 'image', mimeType: 'image/heic' })).toBe(false);
      expect(await takes({}, picture)).toBe(true);
      expect(await takes({ images: false }, picture)).toBe(false);
      expect(await takes({ images: true })).toBe(false);
    });

    it('asks again without the picture when the model takes none, and then sends none for an hour', async () => {
      const bodies: Array<{ messages: Array<{ content: unknown }> }> = [];
      const answer = (status: number, body: nock.Body) =>
        nock(url)
          .post('/v1/chat/completions', (sent) => bodies.push(sent) > 0)
          .reply(status, body);
      const clock = new FakeClock();
      const client = aClient({}, clock);
      const send = (text: string) =>
        client.sendMessage(url, aMessage({ text, media: picture }), { loadMedia });
      answer(400, { error: { message: 'unknown variant `image_url`, expected `text`' } });
      answer(200, completion('ok'));
      expect((await send('')).response).toBe('ok');
      answer(200, completion('ok'));
      await send('and this?');
      expect(bodies.map(({ messages }) => typeof messages.at(-1)?.content)).toEqual([
        'object',
        'string',
        'string',
      ]);
      expect(bodies[1]?.messages.at(-1)?.content).toBe('[a picture, which you cannot see]');
      expect(await client.takesFile(aMessage({ media: picture }))).toBe(false);
      await clock.advanceMs(3_600_000);
      expect(await client.takesFile(aMessage({ media: picture }))).toBe(true);
    });

    it.each<[string, Partial<OpenAiSettings>, number, string]>([
      ['the route asks for pictures', { images: true }, 400, 'no image input'],
      ['the refusal has another reason', {}, 400, 'the prompt is too long'],
      ['the server is overloaded', {}, 503, 'image queue full'],
    ])('reports the refusal when %s', async (_name, settings, status, message) => {
      const answers: Array<[number, unknown]> = [[status, { error: { message } }]];
      const given = { settings, message: { media: picture }, options: { loadMedia } };
      await expect(ask(answers, given)).rejects.toThrow(message);
    });

    it('goes on with the words when the picture cannot be loaded, unless the route asks for pictures', async () => {
      const options = {
        loadMedia: () => Promise.reject(new MediaError('MEDIA_TOO_LARGE', { sentence: 'It is too large.' })),
      };
      const message = { media: picture };
      const { bodies } = await ask([[200, completion('ok')]], { message, options });
      expect(bodies[0]?.messages).toEqual([{ role: 'user', content: 'Hello' }]);
      const blank = { message: { ...message, text: '' }, options };
      await expect(ask([], blank)).rejects.toThrow(MediaError);
      await expect(ask([], { settings: { images: true }, message, options })).rejects.toThrow(MediaError);
    });

    it('fails when the picture cannot be loaded', async () => {
      await expect(ask([], { settings: { images: true }, message: { media: picture } })).rejects.toThrow(
        MediaError,
      );
    });
  });

  describe('whose answer is shown while it is written', () => {
    const sse = { 'content-type': 'text/event-stream' };
    const ended = { choices: [{ delta: {}, finish_reason: 'stop' }] };
    const eventsOf = (...events: object[]) =>
      events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const piece = (content: string) => ({ choices: [{ delta: { content } }] });
    const watch = () => {
      const shown: string[] = [];
      return { shown, options: { onText: (textSoFar: () => string) => shown.push(textSoFar()) } };
    };

    it('asks for a stream, and reads the answer by the same rules', async () => {
      const { shown, options } = watch();
      const { response, bodies } = await ask([[200, eventsOf(piece('Hel'), piece('lo'), ended), sse]], {
        options,
      });
      expect(response.response).toBe('Hello');
      expect(shown).toEqual(['Hel', 'Hello']);
      expect(bodies[0]).toMatchObject({ stream: true });
    });

    it('takes the answer of a server that ignores the wish', async () => {
      const { shown, options } = watch();
      expect((await ask([[200, completion('Hello')]], { options })).response.response).toBe('Hello');
      expect(shown).toEqual([]);
    });

    it('can be sent again when the stream breaks off or reports an overload', async () => {
      for (const events of [
        [piece('Hel')],
        [piece('Hel'), { error: { message: 'overloaded', code: 503 } }],
      ]) {
        const { options } = watch();
        const asked = ask([[200, eventsOf(...events), sse]], { options });
        await expect(asked).rejects.toMatchObject({ disposition: expect.stringMatching(/retry|uncertain/) });
      }
    });
  });

  it('previews the request, without secrets and without the bytes of a picture', async () => {
    const preview = await aClient({ images: true, system: 'Be kind.' }).preview(
      aMessage({ media: picture }),
      url,
    );
    expect(preview).toEqual({
      kind: 'request',
      method: 'POST',
      url: 'http://model.test/v1/chat/completions',
      body: {
        model: 'gpt',
        messages: [
          { role: 'system', content: 'Be kind.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hello' },
              { type: 'image_url', image_url: { url: expect.stringMatching(/^data:/) } },
            ],
          },
        ],
        stream: false,
      },
      historyTurns: 10,
    });
    expect(JSON.stringify(preview)).not.toContain('sk-top-secret-key');
  });

  it('logs the answer without a text', async () => {
    const log = recordingLog();
    nock(url).post('/v1/chat/completions').reply(200, completion('a private answer'));
    await aClient({}, new FakeClock(), log).sendMessage(url, aMessage({ text: 'a private question' }));
    expect(log.lines).toMatchObject([
      { message: 'model answered', fields: { agent: `${url}/v1`, finishReason: 'stop' } },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain('private');
  });
});
