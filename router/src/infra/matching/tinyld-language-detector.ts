import { likelyLanguage, twoLettersOf } from '../../core/policies/texts.ts';
import type { LanguageDetector } from '../../core/ports/converters.ts';
import { LANGUAGE_CODES } from '../../core/routing/when-fields.ts';

/** The beginning of a text says its language. */
const MAX_CHARS = 1_000;

/** Greetings are too short for statistics: a list of words knows them better. */
const MAX_GREETING_WORDS = 2;

/** Recognizes languages by tinyld, which is loaded with the first text, and greetings by a list of words. */
export class TinyldLanguageDetector implements LanguageDetector {
  async languageOf(text: string): Promise<string | undefined> {
    const words = text
      .replace(/https?:\/\/\S+|[@#]\S+/g, ' ')
      .slice(0, MAX_CHARS)
      .trim();
    if (!/\p{L}/u.test(words)) return undefined;
    const isShort = words.split(/\s+/).length <= MAX_GREETING_WORDS;
    const greeting = isShort ? likelyLanguage(words, undefined) : undefined;
    if (greeting) return twoLettersOf(greeting);
    const { detect } = await import('tinyld');
    const found = detect(words);
    if (LANGUAGE_CODES.has(found)) return found;
    const likely = likelyLanguage(words, undefined);
    return likely && twoLettersOf(likely);
  }
}
