import { useTexts } from '../app/language.ts';
import type { Language } from '../translation/en.ts';
import { filled } from './filled.ts';

/** The key of a text of a conversation. */
export type TextKey = keyof Language['conversation'];

/** A function that returns a text of a conversation in the chosen language, with its values. */
export function useText(): (key: TextKey, values?: Record<string, string | number>) => string {
  const all = useTexts('conversation');
  return (key, values) => filled(all[key], values);
}

const KINDS = new Set([
  ...['text', 'image', 'video', 'audio', 'voice', 'document', 'sticker', 'location', 'contact', 'contacts'],
  ...['poll', 'reaction', 'undecryptable'],
]);

/** The key of the text for a kind of content. */
export function kindKey(kind: string): TextKey {
  return (KINDS.has(kind) ? `kind.${kind}` : 'kind.other') as TextKey;
}
