import { useTexts } from '../app/language.ts';
import { amountsOf } from './amounts.ts';
import { hintOf, type JsonSchema, labelOf } from './json-schema.ts';

/** The texts of fields in the language of the console. */
export interface FieldTexts {
  /**
   * The name of a field in words.
   * @param path of the field, as for `hint`; it tells apart fields of one name
   */
  label(name: string, path?: readonly string[]): string;
  /**
   * What a field means: its values and other fields by the words of the form, amounts with their unit, other code in
   * quotation marks. Undefined without a meaning.
   * @param path of the field: its form or agent kind, the groups that contain it, its name
   * @param schema with the description of the API, in English
   */
  hint(path: readonly string[], schema: JsonSchema | undefined): string | undefined;
  /** A value that a field can have, in words. */
  value(value: string): string;
}

/** A hook that returns the texts of fields. */
export function useFieldTexts(): FieldTexts {
  const service = useTexts('service');
  const form: { labels: Texts; values: Texts; inUnits: readonly string[] } = useTexts('form');
  const label = (name: string, path: readonly string[] = []) =>
    form.labels[path.slice(-2).join('.')] ?? form.labels[name] ?? service?.labels[name] ?? labelOf(name);
  const value = (each: string) => form.values[each] ?? each;
  return {
    label,
    value,
    hint: (path, schema) => {
      if (!schema?.description) return undefined;
      const amounts = amountsOf(path.at(-1) ?? '');
      const choices = (schema.enum ?? schema.items?.enum ?? []).map(String);
      const inWords = (code: string) => {
        if (choices.includes(code)) return value(code);
        if (schema.properties?.[code]) return label(code, [...path, code]);
        return FIELD_NAME.test(code) ? label(code, [...path.slice(0, -1), code]) : code;
      };
      let text = (hintOf(service?.hints, path) ?? schema.description)
        .replace(CALL_IN_BRACKETS, '')
        .replace(VARIABLE_AS_DEFAULT, '')
        .replace(LINK, '$1');
      for (const inUnit of amounts ? form.inUnits : []) text = text.replace(inUnit, '');
      if (schema.items?.enum) text = withoutList(text, choices);
      return (
        text
          .replace(/`([^`]*)`/g, (_, code: string) => `“${inWords(code)}”`)
          .replace(/: ([\w-]+)(?=[.,; ])/g, (all, code: string) => {
            if (amounts && /^\d+$/.test(code)) return `: ${amounts.written(Number(code))}`;
            return choices.includes(code) ? `: ${value(code)}` : all;
          })
          .trim() || undefined
      );
    },
  };
}

/** The name of a field in a sentence, such as `slowAfterMs`. */
const FIELD_NAME = /^[a-z]+[A-Z]\w*$/;

/** A sentence that lists the values says nothing more than the form. */
function withoutList(text: string, choices: readonly string[]): string {
  const listedIn = (sentence: string) =>
    choices.filter((choice) => sentence.includes(`\`${choice}\``)).length;
  return text
    .split(/(?<=\.) /)
    .filter((sentence) => listedIn(sentence) < 2)
    .join(' ');
}

/** What a program calls instead, which a person at a form does not need. */
const CALL_IN_BRACKETS = / \(`(?:GET|POST|PUT|PATCH|DELETE) [^`]*`\)/;

/** A sentence that names the variable of the default: the form shows the value. */
const VARIABLE_AS_DEFAULT = / ?[^.:]{1,20}: WA2AI_\w+\./;

/** A link of the documentation; its pages are not where the form is. */
const LINK = /(?<!!)\[([^[\]]{1,100})\]\([^()]{1,200}\)/;

type Texts = Readonly<Record<string, string>>;

/** Marks of code in a text of the API as quotation marks: `name` becomes “name”. */
export function quoted(text: string): string {
  return text.replace(/`([^`]*)`/g, '“$1”');
}
