/** Sentences by their English form. `{}` in a form is a value, and `{1}` in its translation the first of them. */
export type Sentences = Readonly<Record<string, string>>;

/** A function that translates sentences of the service. */
export type Translate = (english: string) => string | undefined;

/**
 * Reads tables of sentences.
 * @param values translations of words that stand for a value, in the same form
 * @returns translates one sentence, or several that follow each other; undefined when one of them is not known. Where
 *   several forms fit, the longest one is used
 */
export function translator(sentences: Sentences, values: Sentences = {}): Translate {
  const ofSentence = readTable(sentences);
  const ofValue = readTable(values);
  const inSpanish = (value: string): string => ofValue(value, (inner) => inner) ?? value;
  return function translate(english): string | undefined {
    const whole = ofSentence(english, inSpanish);
    if (whole !== undefined) return whole;
    for (const { index } of english.matchAll(/\. /g)) {
      const first = ofSentence(english.slice(0, index + 1), inSpanish);
      const rest = first === undefined ? undefined : translate(english.slice(index + 2));
      if (rest !== undefined) return `${first} ${rest}`;
    }
    return undefined;
  };
}

function readTable(table: Sentences) {
  const forms = Object.keys(table)
    .filter((form) => form.includes('{}'))
    .sort((a, b) => b.length - a.length)
    .map((form) => ({ parts: form.split('{}'), translation: table[form] ?? '' }));
  return (text: string, inSpanish: (value: string) => string): string | undefined => {
    if (Object.hasOwn(table, text) && !text.includes('{}')) return table[text];
    for (const { parts, translation } of forms) {
      const found = valuesOf(parts, text);
      if (found) {
        return translation.replace(/\{(\d+)\}/g, (_, number: string) =>
          inSpanish(found[Number(number) - 1] ?? ''),
        );
      }
    }
    return undefined;
  };
}

/** The values between the parts of a form, each as short as possible and not empty; undefined: the text has another form. */
function valuesOf(parts: readonly string[], text: string): string[] | undefined {
  const [first = '', ...others] = parts;
  const last = others.at(-1) ?? '';
  if (!text.startsWith(first) || !text.endsWith(last)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const part of others.slice(0, -1)) {
    const end = text.indexOf(part, at + 1);
    if (end < 0) return undefined;
    values.push(text.slice(at, end));
    at = end + part.length;
  }
  const end = text.length - last.length;
  return end > at ? [...values, text.slice(at, end)] : undefined;
}
