import { type Token, type Tokens, walkTokens } from 'marked';
import type { MarkdownPicture } from '../../core/ports/pictures.ts';
import { lexMarkdown } from './markdown-lexer.ts';

/** The pictures of a Markdown text (`![alt](url)`), in order; none of a text that is too long or nested too deeply. */
export function markdownPictures(markdown: string): MarkdownPicture[] {
  const tokens = markdown.includes('![') ? lexMarkdown(markdown) : undefined;
  const found: MarkdownPicture[] = [];
  const visit = (token: Token) => {
    if (token.type === 'image') found.push({ raw: token.raw, url: (token as Tokens.Image).href });
  };
  if (tokens) walkTokens(tokens, visit);
  return found;
}
