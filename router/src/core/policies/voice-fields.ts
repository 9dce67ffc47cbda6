import { z } from 'zod';
import { audioServerFields } from './audio-server-fields.ts';

/** Longest answer that is spoken, in characters, where the settings do not say it. */
export const MAX_VOICE_CHARS = 1_000;

/** `config.reply.voice` of a route: its headers are secrets, so there is no default for all routes. */
export const voiceField = z
  .strictObject({
    ...audioServerFields('/audio/speech', 'tts-1'),
    voice: z.string().min(1).max(200).optional().describe('Name of the voice. Default: `alloy`.'),
    when: z
      .enum(['same-as-asked', 'always'])
      .optional()
      .describe(
        '`same-as-asked`: a voice message is answered with one, a text with text. Default: same-as-asked.',
      ),
    maxChars: z
      .int()
      .min(1)
      .max(4_096)
      .optional()
      .describe('A longer answer is sent as text. Default: 1000.'),
  })
  .describe(
    'Answers with voice messages. Only in `config` of a route. An answer that cannot be spoken is sent as text. Default: off.',
  );

export type VoiceSettings = z.output<typeof voiceField>;

/** Whether the answer to a message is spoken. Pure. */
export function isVoiceReply(
  voice: VoiceSettings | undefined,
  asked: { media?: { kind: string } } | undefined,
): voice is VoiceSettings {
  return voice?.when === 'always' || (voice !== undefined && asked?.media?.kind === 'voice');
}
