import { Lexer, type Token, type Tokens, type TokensList } from 'marked';

/** A text without any of these has no inline token besides text: no mark, escape, HTML, address, or line break of Markdown. */
const INLINE_MARKS = /[\\<![\]`*_~@&:]|www\.| {2,}\n/i;
/** One line that begins with a letter is no block besides a paragraph. */
const PLAIN_LINE = /^[A-Za-z][^\n]*$/;

/** The tokens of a Markdown text (GFM), as marked gives them. */
export function lexMarkdown(markdown: string): TokensList {
  return new TextLexer({ gfm: true }).lex(markdown);
}

/** Does not try all rules on the many short texts that match none, such as cells of tables and items of lists. */
class TextLexer extends Lexer {
  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped?: boolean): Token[] {
    if (this.state.top || !PLAIN_LINE.test(src)) return super.blockTokens(src, tokens, lastParagraphClipped);
    const text: Tokens.Text = { type: 'text', raw: src, text: src, tokens: [] };
    this.inline(src, text.tokens);
    tokens.push(text);
    this.state.top = true;
    return tokens;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (src === '' || INLINE_MARKS.test(src)) return super.inlineTokens(src, tokens);
    tokens.push({ type: 'text', raw: src, text: src, escaped: this.state.inRawBlock });
    return tokens;
  }
}
