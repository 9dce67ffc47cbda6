import { parseJid } from '../chat-id.ts';
import {
  CHAT_LANGUAGES,
  type ChatLanguage,
  type FORMS_OF_ADDRESS,
  type Language,
  type TextName,
} from './languages.ts';

const ENTRIES: Record<Language, ChatLanguage> = CHAT_LANGUAGES;

/** Languages of the texts that wa2ai itself sends: codes of BCP 47. */
export const LANGUAGES = Object.keys(CHAT_LANGUAGES) as [Language, ...Language[]];

const PLACEHOLDERS = /\{(\w+)\}/g;

/** Portuguese words are written in Portugal and in Brazil; most people who write them are Brazilians. */
const OF_PORTUGAL: Language = 'pt';

/** How wa2ai's own texts read: of a route, or of all. */
export interface TextSettings {
  formOfAddress: (typeof FORMS_OF_ADDRESS)[number];
  /** The operator's texts, which replace those of wa2ai, by language and name. */
  own: Partial<Record<`${Language}.${TextName}`, string>>;
}

/** A text of wa2ai; `{name}` is replaced by the value of that name. */
export function textOf(
  name: TextName,
  language: Language,
  { formOfAddress, own }: TextSettings,
  values: Record<string, string | number> = {},
): string {
  const { texts, formal, informal } = ENTRIES[language];
  const others = { usual: undefined, formal, informal }[formOfAddress];
  const text = own[`${language}.${name}`] ?? others?.[name] ?? texts[name];
  return text.replace(PLACEHOLDERS, (_, key: string) => String(values[key] ?? ''));
}

/** A placeholder of the operator's text that the text of wa2ai does not have; undefined: there is none. */
export function unknownPlaceholder(name: TextName, text: string): string | undefined {
  const known: readonly string[] = ENTRIES.en.texts[name].match(PLACEHOLDERS) ?? [];
  return text.match(PLACEHOLDERS)?.find((placeholder) => !known.includes(placeholder));
}

/**
 * The language in which wa2ai answers a person: that of their words when these say it, else the one in which people of the chat
 * wrote last, else that of their number's country, else English.
 * @param phone digits with country code; absent when the number is not known
 * @param written the language of earlier words in the chat
 */
export function languageOf(text: string, phone: string | undefined, written?: Language): Language {
  return likelyLanguage(text, phone, written) ?? 'en';
}

/** As `languageOf`; undefined when neither words nor the number say it. */
export function likelyLanguage(
  text: string,
  phone: string | undefined,
  written?: Language,
): Language | undefined {
  const ofCountry = languageOfCountry(phone);
  const ofWords = languageOfWords(text) ?? written;
  if (ofWords !== OF_PORTUGAL) return ofWords ?? ofCountry;
  return ofCountry === OF_PORTUGAL ? OF_PORTUGAL : 'pt-BR';
}

function languageOfCountry(phone: string | undefined): Language | undefined {
  if (phone === undefined) return undefined;
  return LANGUAGES.find((language) => ENTRIES[language].countries?.test(phone));
}

/** The language that words are clearly in; undefined when they do not say it. */
export function languageOfWords(text: string): Language | undefined {
  const start = text.slice(0, 500);
  const scores = LANGUAGES.map((language) => {
    const { words } = ENTRIES[language];
    return { language, score: (words && start.match(words)?.length) ?? 0 };
  });
  const [best, second] = scores.sort((a, b) => b.score - a.score);
  return best && best.score > (second?.score ?? 0) ? best.language : undefined;
}

/** The code of a language in two letters, without its country. */
export function twoLettersOf(language: Language): string {
  return language.slice(0, 2);
}

/** The number of the person who wrote a message, when it is known. */
export function phoneOf({ from }: { from: string }): string | undefined {
  const address = parseJid(from);
  return address?.kind === 'phone' ? address.phone : undefined;
}
