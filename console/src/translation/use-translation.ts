import { textsNow, useTexts } from '../app/language.ts';
import type { Phrase } from './en.ts';

/** Texts of the service in the language of the console. */
export interface Translation {
  /** A sentence of the service; undefined where it has no translation: in English, and for what another system said. */
  sentence(phrase: Phrase | undefined): string | undefined;
  /** A step of a trace, or what it came to. */
  word(english: string): string;
  /** What an error code or reason means; undefined in English, where the code says it. */
  meaning(code: string): string | undefined;
}

/** A hook that translates texts of the service. */
export function useTranslation(): Translation {
  const service = useTexts('service');
  return {
    sentence: sentenceOf,
    word: (english) => own(service?.words, english) ?? english.replaceAll('-', ' '),
    meaning,
  };
}

function sentenceOf(phrase: Phrase | undefined): string | undefined {
  const form = phrase && own(textsNow().service?.phrases, phrase.code);
  return form?.replace(/\{(\w+)\}/g, (_, name: string) => textOf(phrase?.values?.[name]));
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  return typeof value === 'object' && value !== null
    ? (sentenceOf(value as Phrase) ?? '')
    : String(value ?? '');
}

/** A reason may name a kind after a colon: `unsupported-kind:image`. */
function meaning(code: string): string | undefined {
  const [name = ''] = code.split(':');
  return own(textsNow().service?.codes, name)?.replaceAll('`', '');
}

function own(texts: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return texts && Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** What the API says about an error. */
export interface ProblemBody {
  code: string;
  error: string;
  phrase?: Phrase;
  details?: ReadonlyArray<{ field: string; message: string; phrase?: Phrase }>;
}

/**
 * The message and the details of a problem in the language of the console: its sentence, else what its code means with the
 * English sentence as a detail.
 */
export function problemInWords({ code, error, phrase, details = [] }: ProblemBody): {
  message: string;
  details: ReadonlyArray<{ field: string; message: string }>;
} {
  const { service } = textsNow();
  if (!service) return { message: error, details };
  const translated = details.map((each) => ({ ...each, message: sentenceOf(each.phrase) ?? each.message }));
  const means = meaning(code);
  const message = sentenceOf(phrase) ?? (means === undefined ? error : `${means} (${error})`);
  return { message, details: translated };
}
