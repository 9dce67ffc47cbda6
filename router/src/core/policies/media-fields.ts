import { z } from 'zod';
import { audioServerFields } from './audio-server-fields.ts';

const transcribeField = z
  .strictObject(audioServerFields('/audio/transcriptions', 'whisper-1'))
  .describe('Turns voice messages into text. Default: off.');

/** `config.media` of a route: its headers are secrets, so there is no default for all routes. */
export const mediaField = z
  .strictObject({ transcribe: transcribeField.optional() })
  .describe('What happens to files of people before the agent gets them.');

export type MediaSettings = z.output<typeof mediaField>;
export type TranscribeSettings = z.output<typeof transcribeField>;
