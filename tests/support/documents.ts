import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchorOf } from '../../router/src/features/pages/documentation.ts';
import { repositoryRoot } from './repository.ts';

/** A Markdown document of the repository. */
export interface Document {
  /** Relative to the repository, such as `docs/api.md`. */
  path: string;
  text: string;
}

/** A fenced block. `info` is what follows the language: `run=201` in "```sh run=201". */
export interface CodeBlock {
  language: string;
  info: string;
  code: string;
}

/** The documents for readers: the README, the pages of `docs/` and `refs/`, and the other pages of the repository's root. */
export function documents(): Document[] {
  const pagesOf = (folder: string) =>
    readdirSync(join(repositoryRoot, folder))
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => `${folder}/${name}`);
  const paths = [
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
    ...pagesOf('docs'),
    ...pagesOf('refs'),
  ];
  return paths.map((path) => ({ path, text: readDocument(path) }));
}

export function readDocument(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

/** The anchors of a document's headings, as hosting services make them. */
export function anchorsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));
}

/** The fenced blocks of a document, also indented ones, without their indentation. */
export function codeBlocksOf(text: string): CodeBlock[] {
  const fences = /^( *)```(\w+)? *([^\n]*)\n([\s\S]*?)^ *```$/gm;
  return [...text.matchAll(fences)].map(([, indent = '', language = '', info = '', code = '']) => ({
    language,
    info,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

export function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '');
}
