import { language, useSpanish } from '../app/language.ts';
import { useStored } from '../app/stored.ts';

/** Texts of the service in the language of the console. */
export interface Translation {
  /** A sentence of the service; in English when it has no translation. */
  sentence(english: string): string;
  /** The language of such a sentence, when it is not that of the console. */
  languageOf(english: string): 'en' | undefined;
  /** A step of a trace, or what it came to. */
  word(english: string): string;
  /** What an error code or reason means; undefined in English, where the code says it. */
  meaning(code: string): string | undefined;
}

const loadSpanish = () => import('./spanish.ts');

/** A hook that translates texts of the service. The Spanish ones are loaded when the console is in Spanish. */
export function useTranslation(): Translation {
  const isSpanish = useStored(language) === 'es';
  const spanish = useSpanish(loadSpanish);
  return {
    sentence: (english) => spanish?.spanishOf(english) ?? english,
    languageOf: (english) => (isSpanish && spanish?.spanishOf(english) === undefined ? 'en' : undefined),
    word: (english) => spanish?.spanishWord(english) ?? english,
    meaning: (code) => spanish?.spanishMeaning(code)?.replaceAll('`', ''),
  };
}

/** The message and the details of a problem in the language of the console. */
export async function problemInWords<Detail extends { field: string; message: string }>(
  code: string,
  message: string,
  details: readonly Detail[] = [],
): Promise<{ message: string; details: readonly Detail[] }> {
  if (language.value !== 'es') return { message, details };
  try {
    const { spanishProblem } = await import('./spanish.ts');
    return spanishProblem(code, message, details);
  } catch {
    return { message, details };
  }
}
