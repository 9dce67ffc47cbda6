/** The names of the characters from U+00A0 on, as HTML has them. */
const LATIN =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';

const NAMED = new Map<string, string>([
  ...LATIN.split(' ').map((name, index): [string, string] => [name, String.fromCharCode(0xa0 + index)]),
  ...Object.entries({
    ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', hellip: '…', bull: '•', euro: '€' },
    ...{ mdash: '—', ndash: '–', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', sbquo: '‚', bdquo: '„' },
    ...{ trade: '™', larr: '←', rarr: '→', uarr: '↑', darr: '↓', minus: '−', le: '≤', ge: '≥', ne: '≠' },
    ...{ infin: '∞', asymp: '≈', check: '✓', hearts: '♥', oelig: 'œ', OElig: 'Œ', scaron: 'š', Scaron: 'Š' },
    ...{ lsaquo: '‹', rsaquo: '›', prime: '′', Prime: '″', permil: '‰', dagger: '†', thinsp: ' ', ensp: ' ' },
  }),
]);

const REFERENCE = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,9}));/g;

/** A text with the characters that HTML's references stand for: `Tom &amp; Jerry`, `&#39;`. Unknown ones stay. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (written, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? written;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    const isCharacter = code >= 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : written;
  });
}

/**
 * Text that every store and every agent accepts: without NUL, which PostgreSQL rejects, and with U+FFFD in place of each
 * half of a surrogate pair. People can send both, and WhatsApp would deliver a rejected message again and again.
 */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\uFFFD');
}

/**
 * The text without these characters at its end. An expression such as `/\/+$/` looks for the end of the text at every slash
 * of a run: its time grows with the square of the run.
 */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** How agents know the account owner, who answers by hand. */
export const OWNER_NAME = 'Owner of this account';

/** Names that say who somebody is for agents, as letters only. */
const RESERVED = /ownerofthisaccount|^(?:system|assistant|developer)$/;

/**
 * The name of a person for agents, in one line: the one that they chose, unless it claims to be the owner, the assistant or
 * the system. People without a name are distinguished by the last digits of their LID, else of their number; the whole
 * number is not sent.
 */
export function nameOfPerson(pushName: string | undefined, digits: string, isGroup: boolean): string {
  const name = pushName?.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  // Letters of other widths and with accents look alike.
  const letters = name?.normalize('NFKD').replace(/\P{L}/gu, '').toLowerCase();
  if (name && !RESERVED.test(letters ?? '')) return name;
  return isGroup ? `Member ${digits.slice(-4)}`.trim() : 'Person';
}

/** `"Ana": hello`: one line for each text, in which the quotes mark a name that a person chose. */
export function lineOfPerson(name: string, text: string): string {
  return `"${name.replaceAll('"', "'")}": ${indented(text)}`;
}

/** The lines after the first are indented, so that none of them looks like the beginning of another message. */
export function indented(text: string): string {
  return text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ');
}

/** The name that was probably meant: the one that needs the fewest letters changed, at most `maxEdits`. */
export function similarTo(name: string, known: readonly string[], maxEdits: number): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  return best && best.edits <= maxEdits ? best.candidate : undefined;
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
