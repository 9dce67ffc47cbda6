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
    .map((form) => ({ pattern: patternOf(form), translation: table[form] ?? '' }));
  return (text: string, inSpanish: (value: string) => string): string | undefined => {
    if (Object.hasOwn(table, text) && !text.includes('{}')) return table[text];
    for (const { pattern, translation } of forms) {
      const found = pattern.exec(text);
      if (found) {
        return translation.replace(/\{(\d+)\}/g, (_, number: string) =>
          inSpanish(found[Number(number)] ?? ''),
        );
      }
    }
    return undefined;
  };
}

function patternOf(form: string): RegExp {
  const words = form.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${words.join('(.+?)')}$`, 's');
}
