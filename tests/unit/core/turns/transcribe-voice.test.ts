import { describe, expect, it } from 'vitest';
import { AgentProtocolError, StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { transcribeVoice } from '../../../../router/src/core/turns/transcribe-voice.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const settings = { url: 'http://ears.test' };
const aTurn = (message: object = {}) =>
  ({ message: { text: '', media: { kind: 'voice', mimeType: 'audio/ogg' }, ...message } }) as PendingTurn;

const transcribe = (
  turn: PendingTurn,
  textOf: () => Promise<string>,
  given: typeof settings | null = settings,
) =>
  transcribeVoice(
    { transcripts: { textOf }, stopping: new AbortController().signal, log: quietLog },
    turn,
    given ?? undefined,
  );

describe('transcribeVoice', () => {
  it('makes the transcript the text of the message, and says so', async () => {
    const { turn, step } = await transcribe(aTurn(), async () => 'hello');
    expect(turn.message).toMatchObject({ text: 'hello', isTranscript: true });
    expect(step).toMatchObject({ step: 'transcribe', outcome: 'transcribed' });
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
    expect(empty).toMatchObject({ turn, step: { outcome: 'empty' } });
    const failed = await transcribe(turn, () => Promise.reject(new AgentProtocolError('No.')));
    expect(failed).toEqual({ turn, step: { step: 'transcribe', outcome: 'failed', sentence: 'No.' } });
  });

  it('passes failures of the database and defects on', async () => {
    const down = new StorageUnavailableError('down');
    await expect(transcribe(aTurn(), () => Promise.reject(down))).rejects.toBe(down);
    const defect = new TypeError('x');
    await expect(transcribe(aTurn(), () => Promise.reject(defect))).rejects.toBe(defect);
  });
});
