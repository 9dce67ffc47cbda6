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

const INLINE = new Set([
  ...['b', 'strong', 'i', 'em', 's', 'del', 'strike', 'code', 'kbd', 'a', 'u', 'ins', 'span', 'font'],
  ...['small', 'big', 'mark', 'sub', 'sup', 'abbr', 'q', 'cite', 'tg-spoiler'],
]);
const BLOCK = new Set([
  ...['p', 'div', 'ul', 'ol', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'center', 'br', 'hr'],
  ...['table', 'thead', 'tbody', 'tr', 'td', 'th', 'section', 'article'],
]);
const TAG = /^<(\/?)([A-Za-z][\w-]{0,12})(?:[\s/][^<>]{0,1000})?>$/;
const HREF = /\shref\s?=\s?["']?((?:https?:\/\/|mailto:|tel:)[^\s"'<>]{1,900})/i;

/** A tag of an element that marks words; undefined: it is something else. */
export function htmlTag(raw: string): { name: string; isEnd: boolean; href?: string } | undefined {
  const [, slash = '', written = ''] = TAG.exec(raw) ?? [];
  const name = written.toLowerCase();
  if (!INLINE.has(name)) return undefined;
  const address = name === 'a' ? HREF.exec(raw)?.[1]?.replace(/^(?:mailto|tel):/, '') : undefined;
  return { name, isEnd: slash !== '', ...(address !== undefined && { href: decodeEntities(address) }) };
}

const ANY_TAG = /<!--[^<>]{0,1000}-->|<\/?[A-Za-z][\w-]{0,12}(?:[\s/][^<>]{0,1000})?>/g;

/**
 * The text of a block of HTML: one line for each paragraph, item and row. A block with an element that is not of text, such as
 * a script, stays as it is.
 * @param marked the text of an inline element, with the marks of the chat
 */
export function htmlBlockText(html: string, marked: (text: string, tag: string) => string): string {
  const open: Array<{ name: string; text: string; href?: string }> = [{ name: '', text: '' }];
  const write = (text: string) => {
    const within = open.at(-1);
    if (within) within.text += text;
  };
  const close = (mark: (text: string, tag: string) => string) => {
    const { name = '', text = '', href } = open.pop() ?? {};
    write(mark(text, name) + (href && href !== text ? ` (${href})` : ''));
  };
  let at = 0;
  for (const match of html.matchAll(ANY_TAG)) {
    const [raw] = match;
    write(decodeEntities(html.slice(at, match.index).replace(/\s+/g, ' ')));
    at = match.index + raw.length;
    if (raw.startsWith('<!--')) continue;
    const name = TAG.exec(raw)?.[2]?.toLowerCase() ?? '';
    const tag = htmlTag(raw);
    if (tag && !tag.isEnd) open.push({ name, text: '', ...(tag.href && { href: tag.href }) });
    else if (tag) {
      if (open.at(-1)?.name === name) close(marked);
    } else if (!BLOCK.has(name)) return html;
    else if (name === 'td' || name === 'th') write(raw[1] === '/' ? ' ' : '');
    else write(`\n${name === 'li' && raw[1] !== '/' ? '- ' : ''}`);
  }
  write(decodeEntities(html.slice(at).replace(/\s+/g, ' ')));
  while (open.length > 1) close((text) => text);
  const written = open[0]?.text ?? '';
  const lines = written.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && line !== '-').join('\n');
}
