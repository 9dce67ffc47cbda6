import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import type { AgentResponse } from '../../../../router/src/core/models.ts';
import {
  isVoiceReply,
  type VoiceSettings,
} from '../../../../router/src/core/policies/conversation-fields.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { Speech } from '../../../../router/src/core/ports/converters.ts';
import { shapeAnswer } from '../../../../router/src/core/turns/shape-answer.ts';
import { shaping } from '../../../support/shaping.ts';
import { opusFile, PNG } from '../../../support/sounds.ts';

type ShapeAnswerOptions = Parameters<typeof shapeAnswer>[2];

const voice: VoiceSettings = { url: 'http://mouth.test', when: 'always', maxChars: 40 };
const bytes = opusFile();
const note = { kind: 'voice' as const, mimeType: 'audio/ogg; codecs=opus' };
const asked = (kind: 'voice' | 'image') => ({ media: { kind, mimeType: 'x/y' } });

/** The answer as it goes to the chat, and the texts that were spoken. */
async function shape(
  answer: Partial<AgentResponse>,
  more: Partial<ShapeAnswerOptions> = {},
  voiceNoteOf: Speech['voiceNoteOf'] = async () => ({ ...note, bytes }),
) {
  const spoken: string[] = [];
  const speech: Speech = {
    voiceNoteOf: (text, settings, signal) => {
      spoken.push(text);
      return voiceNoteOf(text, settings, signal);
    },
  };
  const conversation = chatSettingsOf({ channelId: '1', config: { reply: { voice } } }, {});
  const shaped = await shapeAnswer(
    { ...shaping(), speech },
    { success: true, ...answer },
    { conversation, ...more },
  );
  const replies = shaped.replies.map(({ text, media }) => media?.kind ?? text);
  return { replies, spoken, steps: shaped.steps.map(({ step, outcome }) => [step, outcome]), shaped };
}

describe('isVoiceReply', () => {
  const own = (when?: VoiceSettings['when']) => ({ url: 'http://mouth.test', ...(when && { when }) });
  it.each([
    ['without the setting', undefined, asked('voice'), false],
    ['a voice message', own(), asked('voice'), true],
    ['another file', own(), asked('image'), false],
    ['a text', own(), {}, false],
    ['a message that is not known', own(), undefined, false],
    ['a text, always', own('always'), {}, true],
    ['a voice message, same as asked', own('same-as-asked'), asked('voice'), true],
  ])('of %s', (_, settings, message, expected) => {
    expect(isVoiceReply(settings, message)).toBe(expected);
  });
});

describe('shapeAnswer', () => {
  it('speaks the text without its marks and without what must not leave', async () => {
    const found = await shape({ response: '**Hello** sk-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY' });
    expect(found.spoken).toEqual([expect.stringMatching(/^Hello /)]);
    expect(found.spoken[0]).not.toContain('sk-aB3');
    expect(found.replies).toEqual(['voice']);
    expect(found.shaped.replies[0]).toMatchObject({
      text: '',
      media: { ...note, sizeBytes: bytes.length },
      file: bytes,
    });
    expect(found.steps.at(-1)).toEqual(['voice', 'spoken']);
  });

  it('sends the voice message before the files of the answer', async () => {
    const files = [{ kind: 'image' as const, mimeType: 'image/png', bytes: PNG }];
    expect(await shape({ response: 'Look', files })).toMatchObject({ replies: ['voice', 'image'] });
    expect(await shape({ files })).toMatchObject({ replies: ['image'], spoken: [], steps: [] });
  });

  it.each([
    ['where the caller forbids it', 'Hi', { mayBeVoice: false }, []],
    ['that is longer than maxChars', 'word '.repeat(20).trim(), {}, [['voice', 'too-long']]],
    ['without words', '', {}, []],
  ])('does not speak an answer %s', async (_, response, more, steps) => {
    const found = await shape({ response }, more);
    expect(found).toMatchObject({ spoken: [], steps, replies: response === '' ? [] : [response] });
  });

  it('sends the text when the server fails, and passes defects on', async () => {
    const failing = () =>
      Promise.reject(new AgentUnavailableError({ sentence: 'The speech server did not answer.' }));
    const found = await shape({ response: 'Hi' }, {}, failing);
    expect(found).toMatchObject({ replies: ['Hi'], steps: [['voice', 'failed']] });
    expect(found.shaped.steps[0]?.sentence).toBe('The speech server did not answer.');
    const defect = new TypeError('x');
    await expect(shape({ response: 'Hi' }, {}, () => Promise.reject(defect))).rejects.toBe(defect);
  });

  it('ends with its signal', async () => {
    const reason = new Error('stopping');
    const ending = shape({ response: 'Hi' }, { signal: AbortSignal.abort(reason) }, () =>
      Promise.reject(new AgentUnavailableError({ sentence: 'x' })),
    );
    await expect(ending).rejects.toBe(reason);
  });

  describe('with files of the type application/vnd.wa2ai+json', () => {
    const file = (json: unknown) => ({
      kind: 'document' as const,
      mimeType: 'application/vnd.wa2ai+json',
      bytes: Buffer.from(typeof json === 'string' ? json : JSON.stringify(json)),
    });
    const silent = { mayBeVoice: false, isOfTurn: true };
    const poll = { question: 'When?', options: ['Monday', 'Tuesday'] };

    it.each([
      [{ location: { latitude: 1, longitude: 2, name: 'Here' } }, { kind: 'location', name: 'Here' }],
      [
        { contacts: [{ name: 'Bo', phone: '+34 600 000 001' }] },
        { kind: 'contacts', contacts: [{ name: 'Bo', phone: '34600000001' }] },
      ],
      [{ poll }, { kind: 'poll', ...poll, selectable: 1, secret: 'c2VjcmV0' }],
    ])('sends %j after the text', async (json, special) => {
      const { shaped } = await shape({ response: 'Look', files: [file(json)] }, silent);
      expect(shaped.replies).toMatchObject([{ text: 'Look' }, { special }]);
      expect(shaped.replies[1]?.text).not.toBe('');
    });

    it('sends the description where the end of a turn does not store it', async () => {
      const { shaped } = await shape({ files: [file({ poll })] }, { mayBeVoice: false });
      expect(shaped.replies).toEqual([{ text: 'Poll: When?\n- Monday\n- Tuesday' }]);
    });

    it.each([
      '{',
      { poll: { question: 'x', options: ['a'] } },
      { location: {}, poll },
      { contacts: [{ name: 'Bo', phone: '1' }] },
    ])('sends nothing of %j, and says so', async (json) => {
      const found = await shape({ response: 'Look', files: [file(json)] }, silent);
      expect(found).toMatchObject({ replies: ['Look'], steps: [['special', 'failed']] });
    });
  });
});
