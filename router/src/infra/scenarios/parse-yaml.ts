import type { Document, LineCounter } from 'yaml';

/** Lines and signs that may begin a value; each of them costs the parser a few microseconds. */
const MAX_PARTS = 40_000;
/** Lists and objects inside one another. The parser reads a level once more for each level around it. */
const MAX_LEVELS = 32;
const SIGNS = '[{]},:?-&*!';

/** A YAML document, or what is wrong with it: `at` is a position in the text. */
export type ParsedYaml = { document: Document; value: unknown } | { message: string; at: number };

/**
 * Parses a YAML document without aliases. The time of the parser grows with the square of some texts, so their values and
 * levels are counted first, and keys are compared here. Never throws for a text.
 * @param lines gets the positions of the lines
 */
export async function parseYaml(text: string, maxBytes: number, lines?: LineCounter): Promise<ParsedYaml> {
  const tooLarge = sizeProblem(text, maxBytes);
  if (tooLarge) return { message: tooLarge, at: 0 };
  // Loaded with its first use: the service starts without it.
  const { isScalar, parseDocument, visit } = await import('yaml');
  const document = parseDocument(text, {
    ...{ uniqueKeys: false, logLevel: 'silent', prettyErrors: lines === undefined },
    ...(lines && { lineCounter: lines }),
  });
  const [error] = document.errors;
  if (error) return { message: firstLine(error.message), at: error.pos[0] };
  let problem: { message: string; at: number } | undefined;
  const report = (message: string, node: unknown) => {
    problem ??= { message, at: (node as { range?: [number] } | null)?.range?.[0] ?? 0 };
  };
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        const name = isScalar(key) ? String(key.value) : undefined;
        if (name === undefined) report('a key is no text', key);
        else if (names.has(name)) report(`the key "${name.slice(0, 100)}" is there twice`, key);
        else names.add(name);
      }
    },
    Alias(_, alias) {
      report(`the alias *${alias.source.slice(0, 100)} is not allowed; write the value again`, alias);
    },
  });
  return problem ?? { document, value: document.toJS({ maxAliasCount: 0 }) };
}

function firstLine(message: string): string {
  return (message.split('\n', 1)[0] as string).replace(/[.:]$/, '');
}

function sizeProblem(text: string, maxBytes: number): string | undefined {
  if (Buffer.byteLength(text) > maxBytes) return `it has more than ${maxBytes} bytes`;
  const indents: number[] = [];
  let parts = 0;
  let open = 0;
  for (const line of text.split('\n')) {
    parts += 4;
    const words = line.trimStart();
    const indent = line.length - words.length;
    if (words !== '') {
      while ((indents.at(-1) ?? -1) >= indent) indents.pop();
      indents.push(indent);
    }
    let dashes = 0;
    for (let at = 0; at < words.length; at++) {
      const sign = words.charAt(at);
      if (!SIGNS.includes(sign)) continue;
      parts += 1;
      if (sign === '[' || sign === '{') open += 1;
      else if (sign === ']' || sign === '}') open = Math.max(0, open - 1);
      else if ((sign === '-' || sign === '?') && (words[at + 1] ?? ' ').trim() === '') dashes += 1;
      if (open + indents.length + dashes > MAX_LEVELS) return `it has more than ${MAX_LEVELS} levels`;
    }
    if (parts > MAX_PARTS) return `it has more than ${MAX_PARTS / 4} lines or ${MAX_PARTS} values`;
  }
  return undefined;
}
