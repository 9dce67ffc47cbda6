import { useTexts } from '../../app/language.ts';
import { filled } from '../../conversation/filled.ts';
import type { Language } from '../../translation/en.ts';

/** The key of a text of the page. */
export type TextKey = keyof Language['chats'];

/** A function that returns a text of the page in the chosen language, with its values. */
export function useText(): (key: TextKey, values?: Record<string, string | number>) => string {
  const all = useTexts('chats');
  return (key, values) => filled(all[key], values);
}
