import { es } from './es.ts';
import { SPANISH_MISTAKES } from './spanish-mistakes.ts';
import { SPANISH_SENTENCES, SPANISH_VALUES } from './spanish-sentences.ts';
import { translator } from './translate.ts';

/** A sentence of the service in Spanish; undefined when there is no translation. */
export const spanishOf = translator(SPANISH_SENTENCES, SPANISH_VALUES);

const spanishMistake = translator(SPANISH_MISTAKES, SPANISH_VALUES);

/** What an error code or reason means, in Spanish. A reason may name a kind after a colon: `unsupported-kind:image`. */
export function spanishMeaning(code: string): string | undefined {
  const [name = ''] = code.split(':');
  return Object.hasOwn(es.service?.codes ?? {}, name) ? es.service?.codes[name] : undefined;
}

/**
 * The message of a problem in Spanish: its sentence, else what is wrong with each field, else what its code means with the
 * English sentence as a detail.
 */
export function spanishProblem<Detail extends { field: string; message: string }>(
  code: string,
  message: string,
  details: readonly Detail[] = [],
): { message: string; details: readonly Detail[] } {
  const inSpanish = details.map((detail) => ({
    ...detail,
    message: spanishMistake(detail.message) ?? spanishOf(`${detail.message}.`) ?? detail.message,
  }));
  const sentence = spanishOf(message);
  if (sentence !== undefined) return { message: sentence, details: inSpanish };
  const isOfFields = details.length > 0 && message.endsWith(`${details.at(-1)?.message}.`);
  if (isOfFields) {
    const lines = inSpanish.map((each) => `${each.field || 'La petición'} ${each.message}.`);
    return { message: lines.join(' '), details: inSpanish };
  }
  const meaning = spanishMeaning(code)?.replaceAll('`', '');
  return { message: meaning === undefined ? message : `${meaning} (${message})`, details: inSpanish };
}
