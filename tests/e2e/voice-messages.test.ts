import { randomBytes } from 'node:crypto';
import { normalizeMessageContent } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StandInAnswer, StandInServer } from '../doubles/stand-in-server.ts';
import { MP3, opusFile } from '../support/sounds.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const headers = { Authorization: 'Bearer secret-of-the-server' };
const VOICE = opusFile();

const bed = TestBed.shared();
/** The transcription server, and what it answers to each sound. */
let ears: StandInServer;
const words = new Map<string, StandInAnswer>();
/** The speech server. */
let mouth: StandInServer;
let speech: StandInAnswer = { body: VOICE };

beforeAll(async () => {
  ears = await StandInServer.start(({ bytes }) => {
    const known = [...words].find(([sound]) => bytes.includes(Buffer.from(sound, 'hex')));
    return known?.[1] ?? { status: 500 };
  });
  mouth = await StandInServer.start(() => speech);
});

afterAll(async () => {
  await Promise.all([ears.close(), mouth.close()]);
});

/** A new voice message, and what the transcription server answers to it. */
function voiceMessage(answer: StandInAnswer) {
  const sound = randomBytes(500);
  words.set(sound.toString('hex'), answer);
  return bed.emulator.mediaHost.message('audio', sound, { isVoice: true });
}

const heard = (text: string) => voiceMessage({ body: { text } });
const transcribe = () => ({ url: ears.url, headers });
const stepsOf = ({ trace }: Record<string, unknown>) =>
  (trace as Array<{ step?: string; outcome: string; sentence?: string }>).filter(
    ({ step }) => step === 'transcribe' || step === 'voice',
  );
const countOf = (server: StandInServer) => server.requests.length;

/** The next bubble of a person: its text, or that it is a voice message. */
async function nextBubble(person: Person) {
  const bubble = await person.nextReply();
  const audio = normalizeMessageContent(bubble.message)?.audioMessage;
  return { ...bubble, audio };
}

describe('A voice message in a group', () => {
  it('is answered when its words contain the pattern, and else is not', async () => {
    const [ana, bo] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Time', members: [ana, bo, bed.phone] });
    await bed.service.addRoute(group.jid, bed.agent.url, {
      config: { group: { answer: 'mention', patterns: ['^robot'] }, media: { transcribe: transcribe() } },
    });
    const silent = await ana.say(heard('what a day'), { to: group });
    expect(await bed.untilTurnEnded(silent)).toMatchObject({
      state: 'ignored',
      reason: 'group-not-addressed',
      text: 'what a day',
    });
    const asked = await ana.say(heard('robot, what time is it?'), { to: group });
    expect((await bo.nextReply()).text).toContain('robot, what time is it?');
    expect(stepsOf(await bed.untilTurnEnded(asked))).toMatchObject([{ outcome: 'transcribed' }]);
    expect(bo.received).toHaveLength(1);
  });
});

describe('The route of a voice message', () => {
  it('is chosen by its words, once heard', async () => {
    const cleo = bed.person();
    await bed.service.addRoute(cleo.phone, bed.agent.url, {
      ...{ name: 'rest', priority: 1, config: { media: { transcribe: transcribe() } } },
    });
    await bed.service.addRoute(cleo.phone, bed.agent.url, {
      ...{ name: 'billing', priority: 2, regexFilter: 'invoice', config: { reply: { maxChars: 100 } } },
    });
    const before = countOf(ears);
    const first = await cleo.say(heard('my invoice is wrong'), { to: bed.phone });
    expect((await cleo.nextReply()).text).toBe('Echo: my invoice is wrong');
    const second = await cleo.say(heard('good morning'), { to: bed.phone });
    expect((await cleo.nextReply()).text).toBe('Echo: good morning');
    expect(countOf(ears)).toBe(before + 2);
    const routeOf = async (id: string) => {
      const ended = await bed.untilTurnEnded(id);
      expect(stepsOf(ended)).toMatchObject([{ outcome: 'transcribed' }]);
      const trace = ended.trace as Array<{ name?: string; outcome: string }>;
      return trace.find(({ outcome }) => outcome === 'chosen')?.name;
    };
    expect(await routeOf(first)).toBe('billing');
    expect(await routeOf(second)).toBe('rest');
  });

  it('is chosen without them when the server fails, once, and the trace says why', async () => {
    const dan = bed.person();
    const config = { media: { transcribe: transcribe() }, notices: { unsupported: 'No sounds, please.' } };
    await bed.service.addRoute(dan.phone, bed.agent.url, { regexFilter: 'never', priority: 2, config });
    await bed.service.addRoute(dan.phone, bed.agent.url, { priority: 1, config });
    const before = countOf(ears);
    const id = await dan.say(voiceMessage({ status: 401 }), { to: bed.phone });
    expect((await dan.nextReply()).text).toBe('No sounds, please.');
    expect(countOf(ears)).toBe(before + 1);
    expect(stepsOf(await bed.untilTurnEnded(id))).toMatchObject([
      {
        step: 'transcribe',
        outcome: 'failed',
        sentence: 'The transcription server answered status 401. Check config.media.transcribe.',
      },
    ]);
  });
});

describe('config.reply.voice', () => {
  const settings = () => ({ url: `${mouth.url}/v1`, voice: 'nova', headers });
  const listener = async (config: object = {}) => {
    const person = bed.person();
    await bed.service.addRoute(person.phone, bed.agent.url, {
      config: { media: { transcribe: transcribe() }, reply: { voice: settings(), ...config } },
    });
    return person;
  };

  it('answers a voice message with one, and a text with text', async () => {
    speech = { body: VOICE };
    const person = await listener();
    await person.say('hello', { to: bed.phone });
    expect((await nextBubble(person)).text).toBe('Echo: hello');
    const asked = await person.say(heard('say **something**'), { to: bed.phone });
    const { audio, message } = await nextBubble(person);
    expect(audio).toMatchObject({ ptt: true, mimetype: 'audio/ogg; codecs=opus', seconds: 2 });
    expect(audio?.waveform).toHaveLength(64);
    expect(bed.emulator.mediaHost.open(message)).toEqual(VOICE);
    const request = mouth.requests.at(-1);
    expect(request).toMatchObject({ path: '/v1/audio/speech' });
    expect(request?.headers.authorization).toBe(headers.Authorization);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...{ model: 'tts-1', voice: 'nova', response_format: 'opus', input: 'Echo: say something' },
    });
    expect(stepsOf(await bed.untilTurnEnded(asked))).toMatchObject([
      { step: 'transcribe', outcome: 'transcribed' },
      { step: 'voice', outcome: 'spoken' },
    ]);
    expect(JSON.stringify(await bed.service.api('GET', '/api/routes'))).not.toContain('secret-of-the-server');
    expect(bed.service.output).not.toContain('secret-of-the-server');
  });

  it.each([
    ['the server fails', { status: 400 }, {}, 'failed'],
    ['its sound is no Opus and there is no ffmpeg', { body: MP3 }, {}, 'failed'],
    ['the answer is too long', { body: VOICE }, { maxChars: 5 }, 'too-long'],
  ])('sends the text when %s, and says why', async (_, answer, more, outcome) => {
    speech = answer;
    const person = await listener({ voice: { ...settings(), ...more, when: 'always' } });
    const id = await person.say('hello there', { to: bed.phone });
    expect((await nextBubble(person)).text).toBe('Echo: hello there');
    expect(stepsOf(await bed.untilTurnEnded(id))).toMatchObject([{ step: 'voice', outcome }]);
  });

  it('is no default of all routes', async () => {
    const { status } = await bed.service.api('PUT', '/api/settings/conversation', {
      reply: { voice: settings() },
    });
    expect(status).toBe(400);
  });

  it('is masked in the policy of a chat', async () => {
    speech = { body: VOICE };
    const person = await listener({ voice: { ...settings(), when: 'always' } });
    const id = await person.say('hello', { to: bed.phone });
    expect((await nextBubble(person)).audio).toBeTruthy();
    const { chatId } = await bed.untilTurnEnded(id);
    const { body } = await bed.service.api('GET', `/api/chats/${chatId}/policy`);
    expect(body.data).toMatchObject({
      settings: { reply: { voice: { headers: { Authorization: '***' } } } },
      origins: { 'reply.voice': 'route' },
    });
  });
});

it('wa2ai killed sends an answer that was being spoken once, and does not ask again for words that it heard', async () => {
  const [ana, bo] = [bed.person(), bed.person()];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = await StandInServer.start(async () => {
    await released;
    return { body: VOICE };
  });
  await bed.service.addRoute(ana.phone, bed.agent.url, {
    config: { reply: { voice: { url: slow.url, when: 'always' } } },
  });
  const silent = await bed.anotherAgent(['--mode', 'hang']);
  await bed.service.addRoute(bo.phone, silent.url, {
    config: { media: { transcribe: transcribe() } },
    regexFilter: 'time',
  });
  await ana.say('are you there?', { to: bed.phone });
  await expect.poll(() => slow.requests.length).toBe(1);
  const before = countOf(ears);
  const id = await bo.say(heard('what time is it?'), { to: bed.phone });
  await expect.poll(async () => (await bed.message(id))?.text).toBe('what time is it?');
  await bed.service.end('SIGKILL');
  release();
  await silent.close();
  await bed.anotherAgent([], Number(new URL(silent.url).port));
  await bed.restartService();

  expect((await nextBubble(ana)).audio).toMatchObject({ ptt: true });
  await ana.say('thank you', { to: bed.phone });
  expect((await nextBubble(ana)).audio).toMatchObject({ ptt: true });
  expect(ana.received).toHaveLength(2);
  await slow.close();

  expect((await bo.nextReply()).text).toBe('Echo: what time is it?');
  expect(countOf(ears)).toBe(before + 1);
  expect(stepsOf(await bed.untilTurnEnded(id))).toMatchObject([{ outcome: 'transcribed' }]);
  expect(bo.received).toHaveLength(1);
});
