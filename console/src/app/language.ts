import { en, type Language } from '../translation/en.ts';
import { LANGUAGES, type LanguageCode } from '../translation/languages.ts';
import { Stored, useStored } from './stored.ts';

const CODES = Object.keys(LANGUAGES) as LanguageCode[];

/** The language of the console: chosen, else that of the browser. */
export const language = new Stored<LanguageCode>(
  'language',
  CODES,
  CODES.find((code) => navigator.language.startsWith(code)) ?? 'en',
);

const loaded: Partial<Record<LanguageCode, Language>> = { en };

/** Loads the texts of the language; without them the console is in English. Call it before anything is shown. */
export async function loadLanguage(code: LanguageCode = language.value): Promise<void> {
  loaded[code] ??= await LANGUAGES[code].load();
}

/** Changes the language of the console as soon as its texts are loaded. */
export async function chooseLanguage(code: LanguageCode): Promise<void> {
  await loadLanguage(code);
  language.set(code);
}

/** The texts in the language of the console. */
export function textsNow(): Language {
  return loaded[language.value] ?? en;
}

/** A hook that returns the texts of a page or component in the chosen language. */
export function useTexts<Part extends keyof Language>(part: Part): Language[Part] {
  useStored(language);
  return textsNow()[part];
}
