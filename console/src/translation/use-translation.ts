import { language, textsNow, useSpanish, useTexts } from '../app/language.ts';
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

/** A hook that translates texts of the service. */
export function useTranslation(): Translation {
  const chosen = useStored(language);
  const service = useTexts('service');
  const spanish = useSpanish(loadSpanish);
  return {
    sentence: (english) => spanish?.spanishOf(english) ?? english,
    languageOf: (english) =>
      chosen !== 'en' && spanish?.spanishOf(english) === undefined ? 'en' : undefined,
    word: (english) => own(service?.words, english) ?? english,
    meaning: (code) => meaningOf(code)?.replaceAll('`', ''),
  };
}

/** What an error code or reason means; a reason may name a kind after a colon: `unsupported-kind:image`. */
function meaningOf(code: string): string | undefined {
  const [name = ''] = code.split(':');
  return own(textsNow().service?.codes, name);
}

function own(texts: Readonly<Record<string, string>> = {}, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** The message and the details of a problem in the language of the console. */
export async function problemInWords<Detail extends { field: string; message: string }>(
  code: string,
  message: string,
  details: readonly Detail[] = [],
): Promise<{ message: string; details: readonly Detail[] }> {
  if (language.value !== 'es') {
    const meaning = meaningOf(code)?.replaceAll('`', '');
    return { message: meaning === undefined ? message : `${meaning} (${message})`, details };
  }
  try {
    const { spanishProblem } = await import('./spanish.ts');
    return spanishProblem(code, message, details);
  } catch {
    return { message, details };
  }
}
