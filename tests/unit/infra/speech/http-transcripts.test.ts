import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { AgentProtocolError, AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { audioUrl, HttpTranscripts } from '../../../../router/src/infra/speech/audio-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { mockNetwork } from '../../../support/mocked-network.ts';

mockNetwork();

const url = 'http://ears.test';
const turn = (messageId: string, mimeType = 'audio/ogg; codecs=opus') =>
  ({ messageId, message: { media: { kind: 'voice', mimeType } } }) as PendingTurn;

/** The wait before another attempt takes no time; a limit never ends. */
class ImpatientClock extends FakeClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms === 1_000 ? Promise.resolve() : super.sleep(ms, signal);
  }
}

function setup(file = 'sound') {
  const transcripts = new HttpTranscripts({
    media: { load: async () => Buffer.from(file) },
    transport: new AgentTransport(),
    clock: new ImpatientClock(),
  });
  const ask = (messageId = 'm1', settings = {}, mimeType?: string) =>
    transcripts.textOf(turn(messageId, mimeType), { url, ...settings }, new AbortController().signal);
  return { ask };
}

describe('HttpTranscripts', () => {
  it('sends the file and the model as a form, and reads the text of the answer', async () => {
    const bodies: string[] = [];
    nock(url, {
      reqheaders: { authorization: 'Bearer k', 'content-type': /^multipart\/form-data; boundary=/ },
    })
      .post('/v1/audio/transcriptions', (body) => bodies.push(String(body)) > 0)
      .reply(200, { text: ' hello there ' });
    const { ask } = setup();
    expect(await ask('m1', { model: 'tiny', headers: { Authorization: 'Bearer k' } })).toBe('hello there');
    for (const part of ['filename="voice.ogg"', 'audio/ogg', 'sound', 'name="model"', 'tiny'])
      expect(bodies[0]).toContain(part);
  });

  it.each([
    ['audio/aac', 'aac'],
    ['audio/amr', 'amr'],
    ['audio/x-m4a', 'm4a'],
    ['audio/webm; codecs=opus', 'webm'],
    ['video/webm', 'webm'],
    ['audio/x-wav', 'wav'],
    ['audio/vnd.wave', 'wav'],
    ['audio/x-flac', 'flac'],
    ['audio/3gpp', '3gp'],
    ['audio/MPEG', 'mp3'],
    ['application/octet-stream', 'ogg'],
  ])('names a file of %s voice.%s', async (mimeType, extension) => {
    const bodies: string[] = [];
    nock(url)
      .post('/v1/audio/transcriptions', (body) => bodies.push(String(body)) > 0)
      .reply(200, { text: 'hi' });
    await setup().ask('m1', {}, mimeType);
    expect(bodies[0]).toContain(`filename="voice.${extension}"`);
  });

  it('names a file without a known type by its first bytes', async () => {
    const bodies: string[] = [];
    nock(url)
      .post('/v1/audio/transcriptions', (body) => bodies.push(String(body)) > 0)
      .reply(200, { text: 'hi' });
    await setup('#!AMR\n').ask('m1', {}, 'application/octet-stream');
    expect(bodies[0]).toContain('filename="voice.amr"');
  });

  it('asks once for the same file', async () => {
    nock(url).post('/v1/audio/transcriptions').once().reply(200, { text: 'hi' });
    const { ask } = setup();
    await ask('m1');
    expect(await ask('m2')).toBe('hi');
  });

  it('reads a plain text, and takes an empty one for silence', async () => {
    nock(url).post('/v1/audio/transcriptions').reply(200, '\n', { 'content-type': 'text/plain' });
    expect(await setup().ask()).toBe('');
  });

  it('tries an unavailable server twice', async () => {
    nock(url).post('/v1/audio/transcriptions').times(2).reply(503, 'no');
    await expect(setup().ask()).rejects.toThrow(AgentUnavailableError);
    expect(nock.isDone()).toBe(true);
  });

  it.each([
    [401, { error: 'key sk-secret' }, 'status 401. Check config.media.transcribe.'],
    [200, { words: [] }, 'without a text'],
    [200, '{', 'without a text'],
  ])('refuses status %i with %j, without the words of the server', async (status, body, sentence) => {
    nock(url).post('/v1/audio/transcriptions').reply(status, body);
    const error: unknown = await setup()
      .ask()
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(String(error)).toContain(sentence);
    expect(String(error)).not.toContain('sk-secret');
  });
});

describe('audioUrl', () => {
  it.each([
    ['http://a', 'http://a/v1/audio/transcriptions'],
    ['http://a/v1/', 'http://a/v1/audio/transcriptions'],
    ['http://a/openai/v1?x=1', 'http://a/openai/v1/audio/transcriptions?x=1'],
    ['http://a/x/audio/transcriptions', 'http://a/x/audio/transcriptions'],
  ])('of %s is %s', (given, expected) => {
    expect(audioUrl(given, '/audio/transcriptions')).toBe(expected);
  });
});
