import { en, type Language } from './en.ts';

/** The languages of the console. A new one is a file like `es.ts` and a line here. */
export const LANGUAGES = {
  en: { name: 'English', load: async (): Promise<Language> => en },
  es: { name: 'Español', load: async () => (await import('./es.ts')).es },
  pt: { name: 'Português (Brasil)', load: async () => (await import('./pt.ts')).pt },
};

export type LanguageCode = keyof typeof LANGUAGES;
