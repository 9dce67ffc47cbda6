import { lexer, type Token, type Tokens, walkTokens } from 'marked';
import type { MarkdownPicture } from '../../core/ports/pictures.ts';

/** Longer texts are not searched: the lexer's time grows faster than the text on some inputs. */
const MAX_CHARS = 200_000;

/** The pictures of a Markdown text (`![alt](url)`), in order. */
export function markdownPictures(markdown: string): MarkdownPicture[] {
  if (!markdown.includes('![') || markdown.length > MAX_CHARS) return [];
  const found: MarkdownPicture[] = [];
  const visit = (token: Token) => {
    if (token.type === 'image') found.push({ raw: token.raw, url: (token as Tokens.Image).href });
  };
  try {
    walkTokens(lexer(markdown, { gfm: true }), visit);
  } catch {
    return [];
  }
  return found;
}
