import type { WebFiles } from './web-files.ts';

/** A picture that a Markdown text names: `raw` is its part of the text. */
export interface MarkdownPicture {
  raw: string;
  url: string;
}

/** Where pictures in Markdown come from. */
export interface Pictures {
  /** The pictures of a text, in order; none of those in code. Must not throw. */
  find(markdown: string): MarkdownPicture[];
  files: WebFiles;
}
