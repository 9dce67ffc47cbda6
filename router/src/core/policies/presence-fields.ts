import { z } from 'zod';
import { PHRASES } from '../phrases.ts';

/** Shown on the person's message; an absent one is not shown. */
export interface Reactions {
  /** While the agent works. */
  working?: string;
  /** After an answer, else nothing. */
  done?: string;
  /** After a failure, else nothing. */
  failed?: string;
}

export const PRESENCE = {
  readReceipts: 'on-turn' as 'on-turn' | 'never',
  typing: true,
  reactions: {} as Reactions,
};

/** A flag or a family is several code points, and long ones are tags. */
const MAX_EMOJI_CHARS = 40;
const graphemes = new Intl.Segmenter();

// Without `abort`, a text that is too long is segmented all the same.
const emoji = z.string().max(MAX_EMOJI_CHARS, { abort: true }).refine(isEmoji, PHRASES['field.emoji']);

export const presenceField = z
  .strictObject({
    readReceipts: z
      .enum(['on-turn', 'never'])
      .optional()
      .describe('`on-turn`: the blue ticks appear when the turn of a message begins. Default: on-turn.'),
    typing: z.boolean().optional().describe('"typing..." is shown while the agent works. Default: true.'),
    reactions: z
      .strictObject({
        working: emoji.optional().describe('On the message while the agent works; removed at the end.'),
        done: emoji.optional().describe('On the message after the answer.'),
        failed: emoji.optional().describe('On the message when there is no answer.'),
      })
      .optional()
      .describe('Emoji on the message that is answered. Default: none.'),
  })
  .describe('What a person sees of the work on a message, besides the answer.');

function isEmoji(text: string): boolean {
  return [...graphemes.segment(text)].length === 1 && /^\p{Emoji}/u.test(text) && /[^\d#*]/.test(text);
}
