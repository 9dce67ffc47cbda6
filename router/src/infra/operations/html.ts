const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup that is safe to write as it is. Only `html` makes it. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

/** Template for markup. Escapes every value except other `html`, omits undefined and false, and joins lists. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const pieces = strings.flatMap((text, i) => [text, i < parts.length ? written(parts[i]) : '']);
  return new Html(pieces.join(''));
}

function written(part: Part): string {
  if (part instanceof Html) return part.toString();
  if (Array.isArray(part)) return part.map(written).join('');
  if (part === undefined || part === false) return '';
  return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
