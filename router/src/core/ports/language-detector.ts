/** Recognizes the language of a text. Never throws for a text. */
export interface LanguageDetector {
  /** ISO 639-1 code (`es`), one of `LANGUAGE_CODES`; undefined when it is not known. */
  languageOf(text: string): Promise<string | undefined>;
}
