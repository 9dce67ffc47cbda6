import { useTexts } from '../app/language.ts';
import { hintOf, labelOf } from './json-schema.ts';

/** The texts of fields in the language of the console. */
export interface FieldTexts {
  /**
   * The name of a field in words.
   * @param path of the field, as for `hint`; it tells apart fields of one name
   */
  label(name: string, path?: readonly string[]): string;
  /**
   * What a field means, with quotation marks around what is marked as code; undefined without one.
   * @param path of the field: its form or agent kind, the groups that contain it, its name
   * @param description of the API, in English
   * @param choices the values that the form shows in words: a sentence that lists them says nothing more
   */
  hint(
    path: readonly string[],
    description: string | undefined,
    choices?: readonly (string | number)[],
  ): string | undefined;
  /** A value that a field can have, in words. */
  value(value: string): string;
}

/** A hook that returns the texts of fields. */
export function useFieldTexts(): FieldTexts {
  const service = useTexts('service');
  const form: { labels: Texts; values: Texts } = useTexts('form');
  return {
    label: (name, path = []) =>
      form.labels[path.slice(-2).join('.')] ?? form.labels[name] ?? service?.labels[name] ?? labelOf(name),
    hint: (path, description, choices = []) => {
      if (!description) return undefined;
      const text = (hintOf(service?.hints, path) ?? description).replace(CALL_IN_BRACKETS, '');
      return quoted(withoutList(text, choices)) || undefined;
    },
    value: (value) => form.values[value] ?? value,
  };
}

function withoutList(text: string, choices: readonly (string | number)[]): string {
  const listedIn = (sentence: string) =>
    choices.filter((choice) => sentence.includes(`\`${choice}\``)).length;
  return text
    .split(/(?<=\.) /)
    .filter((sentence) => listedIn(sentence) < 2)
    .join(' ');
}

/** What a program calls instead, which a person at a form does not need. */
const CALL_IN_BRACKETS = / \(`(?:GET|POST|PUT|PATCH|DELETE) [^`]*`\)/;

type Texts = Readonly<Record<string, string>>;

/** Marks of code in a text of the API as quotation marks: `name` becomes “name”. */
export function quoted(text: string): string {
  return text.replace(/`([^`]*)`/g, '“$1”');
}
