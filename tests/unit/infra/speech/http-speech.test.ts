import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { AgentProtocolError, FileRefusedError } from '../../../../router/src/core/errors.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { HttpSpeech } from '../../../../router/src/infra/speech/http-speech.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { mockNetwork } from '../../../support/mocked-network.ts';
import { MP3, opusFile } from '../../../support/sounds.ts';

mockNetwork();

const url = 'http://mouth.test';
const sound = opusFile();

function setup() {
  const encoded: Uint8Array[] = [];
  const encoder = {
    encode: async (bytes: Uint8Array) => {
      encoded.push(bytes);
      return sound;
    },
  };
  const speech = new HttpSpeech({ transport: new AgentTransport(), clock: new FakeClock(), encoder });
  const ask = (settings = {}) => speech.voiceNoteOf('hello', { url, ...settings }, undefined);
  return { ask, encoded };
}

describe('HttpSpeech', () => {
  it('asks for Opus, and sends it as it is', async () => {
    const body = { model: 'kokoro', voice: 'ana', input: 'hello', response_format: 'opus' };
    nock(url, { reqheaders: { authorization: 'Bearer k' } })
      .post('/v1/audio/speech', body)
      .reply(200, sound);
    const { ask, encoded } = setup();
    const headers = { Authorization: 'Bearer k' };
    const file = await ask({ model: 'kokoro', voice: 'ana', headers });
    expect(file).toMatchObject({ kind: 'voice', mimeType: 'audio/ogg; codecs=opus' });
    expect(Buffer.from(file.bytes)).toEqual(sound);
    expect(encoded).toEqual([]);
  });

  it('converts another format', async () => {
    nock(url).post('/v1/audio/speech').reply(200, MP3);
    const { ask, encoded } = setup();
    expect((await ask()).kind).toBe('voice');
    expect(Buffer.from(encoded[0] ?? [])).toEqual(MP3);
  });

  it('refuses an empty answer, and a status without the words of the server', async () => {
    nock(url).post('/v1/audio/speech').reply(200, '');
    await expect(setup().ask()).rejects.toThrow(FileRefusedError);
    nock(url).post('/v1/audio/speech').reply(401, 'key sk-secret');
    const error: unknown = await setup()
      .ask()
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(String(error)).toContain('status 401. Check config.reply.voice.');
    expect(String(error)).not.toContain('sk-secret');
  });
});
