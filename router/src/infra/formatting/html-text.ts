import { decodeEntities } from '../../core/html-entities.ts';

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
