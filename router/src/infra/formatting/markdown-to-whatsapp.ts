import type { Token, Tokens } from 'marked';
import type { FormatReply } from '../../core/ports/converters.ts';
import { decodeEntities } from '../../core/text.ts';
import { lexMarkdown } from './markdown-lexer.ts';

/** A text without any of these characters has no Markdown and no HTML. */
const MARKS = /[*_~`#|[\]<>\\&]|^[ \t]*(?:[-+]|\d+[.)]) |^(?:-{2,}|={2,})[ \t]*$/m;
/** Columns of monospaced text that a phone shows without wrapping. */
const MAX_TABLE_CHARS = 34;

/**
 * Markdown for a chat. WhatsApp knows `*bold*`, `_italic_`, `~strike~`, code, lists and quotes; headings become bold, links
 * their text and address, tables a monospaced block or one list per row. Character references and the usual elements of HTML
 * become what they show. A text that is nested too deeply stays as it is. In a text whose only emphasis is `*one star*`, the
 * star is WhatsApp's own and stays. A star between numbers or letters is a star.
 */
export const markdownToWhatsApp: FormatReply = (markdown, format) => {
  if (format === 'as-is' || !MARKS.test(markdown)) return markdown;
  const tokens = lexMarkdown(markdown);
  if (!tokens) return markdown;
  const writer = new Writer(format === 'plain', tokens.some(isMarkdownOnly));
  return writer.blocks(tokens, '');
};

/** What only Markdown writes: with it, one star is italic. */
function isMarkdownOnly(token: Token): boolean {
  if (token.type === 'heading' || token.type === 'table') return true;
  if (token.type === 'strong' || token.type === 'image') return true;
  if (token.type === 'link') return token.raw.startsWith('[');
  const inner = 'tokens' in token ? (token.tokens ?? []) : [];
  const items = token.type === 'list' ? (token as Tokens.List).items : [];
  return inner.some(isMarkdownOnly) || items.some(isMarkdownOnly);
}

class Writer {
  readonly #isPlain: boolean;
  readonly #isMarkdown: boolean;

  constructor(isPlain: boolean, isMarkdown: boolean) {
    this.#isPlain = isPlain;
    this.#isMarkdown = isMarkdown;
  }

  /** Each block, with the line breaks that follow it in the source. */
  blocks(tokens: readonly Token[], indent: string): string {
    return tokens.map((token) => this.#block(token, indent) + endOf(token.raw)).join('');
  }

  #block(token: Token, indent: string): string {
    switch (token.type) {
      case 'heading':
        return this.#wrap(this.inline((token as Tokens.Heading).tokens, 'bold'), '*', '', '');
      case 'paragraph':
      case 'text': {
        const { tokens } = token as Tokens.Paragraph;
        return withStart(token.raw, tokens ? this.inline(tokens) : decodeEntities(bodyOf(token.raw)));
      }
      case 'code':
        return this.#code(token as Tokens.Code);
      case 'blockquote':
        return this.blocks((token as Tokens.Blockquote).tokens, indent)
          .trimEnd()
          .split('\n')
          .map((line) => `> ${line}`.trimEnd())
          .join('\n');
      case 'list':
        return this.#list(token as Tokens.List, indent);
      case 'table':
        return this.#table(token as Tokens.Table);
      case 'def':
        return '';
      case 'html':
        return htmlBlockText(bodyOf(token.raw), (text, tag) => this.#marked(text, tag));
      default:
        return decodeEntities(bodyOf(token.raw));
    }
  }

  #code({ raw, text, codeBlockStyle }: Tokens.Code): string {
    if (codeBlockStyle === 'indented' || text === '') return bodyOf(raw);
    if (this.#isPlain) return text;
    return `\`\`\`\n${text}\n\`\`\``;
  }

  #list({ items, ordered, start }: Tokens.List, indent: string): string {
    const lines = items.map((item, index) => {
      const number = (typeof start === 'number' ? start : 1) + index;
      const mark = ordered ? `${number}. ` : '- ';
      const box = item.task ? (item.checked ? '☑ ' : '☐ ') : '';
      const tokens = item.tokens.filter(({ type }) => (type as string) !== 'checkbox');
      const [first = '', ...rest] = this.blocks(tokens, `${indent}  `).trimEnd().split('\n');
      const more = rest.map((line) => (line === '' ? '' : `  ${line}`));
      return (
        [`${mark}${box}${first}`, ...more].join('\n') +
        (index < items.length - 1 ? endOf(item.raw) || '\n' : '')
      );
    });
    return lines.join('');
  }

  #table({ header, rows }: Tokens.Table): string {
    const titles = header.map(({ tokens }) => plainText(tokens));
    const cells = rows.map((row) => row.map(({ tokens }) => plainText(tokens)));
    const widths = titles.map((title, index) =>
      cells.reduce((width, row) => Math.max(width, row[index]?.length ?? 0), title.length),
    );
    const isNarrow = widths.reduce((sum, width) => sum + width + 2, -2) <= MAX_TABLE_CHARS;
    if (isNarrow && !this.#isPlain) {
      const line = (row: string[]) =>
        row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd();
      return `\`\`\`\n${[titles, ...cells].map(line).join('\n')}\n\`\`\``;
    }
    return cells
      .map(([first = '', ...rest]) => {
        const fields = rest.map((cell, index) => (cell === '' ? '' : `- ${titles[index + 1]}: ${cell}`));
        const title = this.#wrap(first || (titles[0] ?? ''), '*', '', '');
        return [title, ...fields.filter((field) => field !== '')].join('\n');
      })
      .join('\n\n');
  }

  inline(tokens: readonly Token[], within?: 'bold'): string {
    let written = '';
    for (let index = 0; index < tokens.length; index++) {
      const token = tokens[index] as Token;
      const isText = token.type === 'text' && !('tokens' in token && token.tokens);
      const end = token.type === 'html' ? endOfElement(tokens, index) : undefined;
      if (end !== undefined) {
        const inner = this.inline(tokens.slice(index + 1, end), within);
        written += this.#element(token.raw, inner, written, tokens[end + 1]?.raw ?? '');
        index = end;
      } else if (isText) written += decodeEntities(token.raw);
      else written += this.#span(token, within, written, tokens[index + 1]?.raw ?? '');
    }
    return written;
  }

  #element(open: string, text: string, before: string, after: string): string {
    const { name, href } = htmlTag(open) ?? { name: '' };
    const mark = HTML_MARKS[name];
    if (mark) return this.#wrap(text, mark, before, after);
    if (href === undefined || text === href) return text;
    return text === '' ? href : `${text} (${href})`;
  }

  /** The text of an element in a block of HTML. */
  #marked(text: string, tag: string): string {
    const mark = HTML_MARKS[tag];
    return mark ? this.#wrap(text, mark, '', '') : text;
  }

  #span(token: Token, within: 'bold' | undefined, before: string, after: string): string {
    const inner = () => this.inline((token as Tokens.Strong).tokens, within);
    if (isSign(token, before, after)) return decodeEntities(token.raw);
    switch (token.type) {
      case 'strong': {
        const text = this.inline((token as Tokens.Strong).tokens, 'bold');
        return within === 'bold' ? text : this.#wrap(text, '*', before, after);
      }
      case 'em':
        // WhatsApp's own bold.
        if (!this.#isMarkdown && token.raw.startsWith('*') && !this.#isPlain) return token.raw;
        return this.#wrap(inner(), '_', before, after);
      case 'del':
        return this.#wrap(inner(), '~', before, after);
      case 'codespan':
        return this.#isPlain ? (token as Tokens.Codespan).text : token.raw;
      case 'link':
        return linkText(token as Tokens.Link, inner());
      case 'image': {
        const { text, href } = token as Tokens.Image;
        return text ? `${text} (${href})` : href;
      }
      case 'br':
        return '\n';
      case 'escape':
        return (token as Tokens.Escape).text;
      case 'html':
        if (token.raw.startsWith('<!--')) return '';
        return /^<br\s*\/?>$/i.test(token.raw) ? '\n' : token.raw;
      default:
        return 'tokens' in token && token.tokens ? inner() : token.raw;
    }
  }

  /** Marks each line of a text; without marks where WhatsApp would not read them as such. */
  #wrap(text: string, mark: string, before: string, after: string): string {
    const isRead = !text.includes(mark) && !isWord(before.at(-1)) && !isWord(after[0]);
    if (this.#isPlain || !isRead) return text;
    if (!text.includes('\n')) return marked(text, mark);
    return text
      .split('\n')
      .map((line) => marked(line, mark))
      .join('\n');
  }
}

/** Elements whose words WhatsApp can mark. */
const HTML_MARKS: Readonly<Record<string, string>> = {
  ...{ b: '*', strong: '*', i: '_', em: '_', s: '~', del: '~', strike: '~', code: '`', kbd: '`' },
};

/** The place of the tag that ends this element; undefined: it is not a known element, or its words do not fill it. */
function endOfElement(tokens: readonly Token[], start: number): number | undefined {
  const tag = htmlTag((tokens[start] as Token).raw);
  if (!tag || tag.isEnd) return undefined;
  let depth = 0;
  for (let at = start + 1; at < tokens.length; at++) {
    const other = tokens[at]?.type === 'html' ? htmlTag((tokens[at] as Token).raw) : undefined;
    if (other?.name !== tag.name) continue;
    if (!other.isEnd) depth += 1;
    else if (depth > 0) depth -= 1;
    else {
      const first = tokens[start + 1]?.raw ?? '';
      const last = tokens[at - 1]?.raw ?? '';
      // "The <b> and </b> tags" is about HTML.
      return at === start + 1 || (first === first.trimStart() && last === last.trimEnd()) ? at : undefined;
    }
  }
  return undefined;
}

/**
 * Whether the marks of an emphasis are signs of a calculation or a name, such as `2**10`, `x**2 + y**2`, `2*3*4`, `10~20~30`: the
 * first is behind a number or bracket, or both are inside words.
 */
function isSign({ type, raw }: Token, before: string, after: string): boolean {
  if (type !== 'strong' && type !== 'em' && type !== 'del') return false;
  if (/[\p{N})\]]/u.test(before.at(-1) ?? '')) return true;
  if (!isWord(before.at(-1)) || !isWord(after[0])) return false;
  return type !== 'strong' || /\s/.test(raw) || /\p{N}/u.test(after.charAt(0));
}

/** Marks the words of a line, not the space around them. */
function marked(line: string, mark: string): string {
  const body = line.trim();
  if (body === '') return line;
  if (body.length === line.length) return mark + line + mark;
  const start = line.indexOf(body);
  return `${line.slice(0, start)}${mark}${body}${mark}${line.slice(start + body.length)}`;
}

function linkText({ raw, href }: Tokens.Link, text: string): string {
  if (!raw.startsWith('[')) return decodeEntities(raw.startsWith('<') ? raw.slice(1, -1) : raw);
  const address = decodeEntities(href.replace(/^mailto:/, ''));
  return text === '' || text === address || text === href ? address : `${text} (${address})`;
}

const PLAIN = new Writer(true, true);

/** The words of a table cell, without marks. */
function plainText(tokens: readonly Token[]): string {
  const text = PLAIN.inline(tokens);
  return (text.includes('\n') ? text.replaceAll('\n', ' ') : text).trim();
}

function isWord(character: string | undefined): boolean {
  if (character === undefined || character === ' ' || character === '\n') return false;
  return /[\p{L}\p{N}]/u.test(character);
}

/** The line breaks at the end of a block's source. */
function endOf(raw: string): string {
  const body = raw.trimEnd();
  if (body === '') return raw;
  if (body.length === raw.length) return '';
  const end = raw.slice(body.length);
  return end.includes('\n') ? end : '';
}

function bodyOf(raw: string): string {
  return raw.slice(0, raw.length - endOf(raw).length);
}

/** The lexer trims the start of a paragraph. */
function withStart(raw: string, text: string): string {
  const start = /^\s*/.exec(raw)?.[0] ?? '';
  return text.startsWith(start) ? text : start + text;
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
function htmlTag(raw: string): { name: string; isEnd: boolean; href?: string } | undefined {
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
function htmlBlockText(html: string, marked: (text: string, tag: string) => string): string {
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
