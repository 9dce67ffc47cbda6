import { beforeEach, describe, expect, it } from 'vitest';
import { AgentProtocolError, StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { transcribeVoice } from '../../../../router/src/core/turns/load-media.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const settings = { url: 'http://ears.test' };
const aTurn = (message: object = {}) =>
  ({ message: { text: '', media: { kind: 'voice', mimeType: 'audio/ogg' }, ...message } }) as PendingTurn;

const saved: unknown[] = [];
const transcribe = (
  turn: PendingTurn,
  textOf: () => Promise<string>,
  given: typeof settings | null = settings,
) =>
  transcribeVoice(
    {
      transcripts: { textOf },
      inbox: { saveTranscript: async (_, result) => void saved.push(result) },
      stopping: new AbortController().signal,
      log: quietLog,
    },
    turn,
    given ?? undefined,
  );

beforeEach(() => {
  saved.length = 0;
});

describe('transcribeVoice', () => {
  it('makes the transcript the text of the message, and says so', async () => {
    const { turn, step } = await transcribe(aTurn(), async () => 'hello');
    expect(turn.message).toMatchObject({ text: 'hello', isTranscript: true });
    expect(step).toMatchObject({ step: 'transcribe', outcome: 'transcribed' });
    expect(saved).toEqual([{ text: 'hello' }]);
  });

  it('adds the words after those of merged messages', async () => {
    const merged = { ...aTurn({ text: 'listen:' }), merged: [{ messageId: '1', bubbleId: 'b' }] };
    const { turn } = await transcribe(merged, async () => 'hello');
    expect(turn.message).toMatchObject({ text: 'listen:\nhello', isTranscript: true });
    expect(saved).toEqual([{ text: 'hello' }]);
  });

  it.each([
    ['words', { text: 'listen:\nhello', isTranscript: true }, 'transcribed'],
    ['a failure', { noTranscript: { outcome: 'failed', sentence: 'No.' } }, 'failed'],
  ])('asks nothing again where %s are stored', async (_, message, outcome) => {
    const turn = aTurn(message);
    const found = await transcribe(turn, () => expect.unreachable());
    expect(found).toMatchObject({ turn, step: { step: 'transcribe', outcome } });
    expect(saved).toEqual([]);
  });

  it.each([
    ['without the setting', aTurn(), null],
    ['of a message with a text', aTurn({ text: 'a caption' }), settings],
    ['of another file', aTurn({ media: { kind: 'audio', mimeType: 'audio/mpeg' } }), settings],
    ['without a file', aTurn({ media: undefined }), settings],
  ])('asks nothing %s', async (_, turn, given) => {
    expect(await transcribe(turn, () => expect.unreachable(), given)).toEqual({ turn });
  });

  it('leaves the file to the agent when there is no transcript', async () => {
    const turn = aTurn();
    const empty = await transcribe(turn, async () => '');
    expect(empty).toMatchObject({ turn: { message: { text: '' } }, step: { outcome: 'empty' } });
    const failed = await transcribe(turn, () => Promise.reject(new AgentProtocolError({ sentence: 'No.' })));
    const why = { outcome: 'failed', sentence: 'No.' };
    expect(failed.step).toEqual({ step: 'transcribe', ...why });
    expect(failed.turn.message).toMatchObject({ text: '', noTranscript: why, media: turn.message.media });
    expect(saved).toMatchObject([{ outcome: 'empty' }, why]);
  });

  it('passes failures of the database and defects on', async () => {
    const down = new StorageUnavailableError({ sentence: 'down' });
    await expect(transcribe(aTurn(), () => Promise.reject(down))).rejects.toBe(down);
    const defect = new TypeError('x');
    await expect(transcribe(aTurn(), () => Promise.reject(defect))).rejects.toBe(defect);
  });
});
