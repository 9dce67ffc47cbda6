import { useSpanish } from '../app/language.ts';
import { labelOf } from './json-schema.ts';

/** The texts of fields in the language of the console. */
export interface FieldTexts {
  /** The name of a field in words. */
  label(name: string): string;
  /** A description of the API for people, with quotation marks around what it marks as code; undefined without one. */
  hint(description: string | undefined): string | undefined;
}

const loadSpanish = () => import('./spanish.ts');

/** A hook that returns the texts of fields. The Spanish ones are loaded when the console is in Spanish. */
export function useFieldTexts(): FieldTexts {
  const spanish = useSpanish(loadSpanish);
  return {
    label: (name) => {
      const label = labelOf(name);
      return spanish?.SPANISH_LABELS[label] ?? label;
    },
    hint: (description) =>
      description === undefined ? undefined : quoted(spanish?.SPANISH_HINTS[description] ?? description),
  };
}

/** Marks of code in a text of the API as quotation marks: `name` becomes “name”. */
export function quoted(text: string): string {
  return text.replace(/`([^`]*)`/g, '“$1”');
}
