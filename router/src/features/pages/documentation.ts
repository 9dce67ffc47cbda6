import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFolder } from '../../config/package-version.ts';
import { say } from '../../core/phrases.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';

/** The pages of the documentation, and their pictures. */
export const DOCS_FOLDER = join(projectFolder(), 'docs');

const FIRST_PAGE = 'README.md';
/** Of the text that is shown of a result. */
const EXCERPT_CHARS = 200;

/** A page of the documentation. */
export interface DocPage {
  /** `routes.md`. */
  name: string;
  title: string;
  text: string;
}

/** What stands below one heading of a page. */
interface DocSection {
  page: string;
  title: string;
  /** Absent: the beginning of the page. */
  heading?: string;
  /** Without the marks of Markdown. */
  text: string;
  /** What is searched: without upper case and accents. */
  folded: { title: string; heading: string; text: string };
}

/** A place in the documentation that a search found. */
export interface FoundSection {
  page: string;
  title: string;
  heading?: string;
  /** Of the heading. */
  anchor?: string;
  excerpt: string;
}

/** The anchor of a heading, as repository hosts generate it. Error responses link to these anchors. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

/** A file that the folder lists, so that no name can leave the folder. @throws {HttpProblem} 404 */
export async function readListed(folder: string, name: string, ending: RegExp): Promise<Buffer> {
  const names: string[] = await readdir(folder).catch(() => []);
  if (ending.test(name) && names.includes(name)) return readFile(join(folder, name));
  throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-page'));
}

/** The documentation of this version, read once. Anybody may search it, so a search only compares texts. */
export class Documentation {
  readonly #folder: string;
  #pages: Promise<DocPage[]> | undefined;
  #sections: Promise<DocSection[]> | undefined;

  constructor(folder = DOCS_FOLDER) {
    this.#folder = folder;
  }

  /** All pages in the order in which the first one names them. Without the folder there are none. */
  pages(): Promise<DocPage[]> {
    this.#pages ??= this.#read();
    return this.#pages;
  }

  /** The places that have all of these words, those with the words in a heading first. */
  async search(query: string, limit: number): Promise<FoundSection[]> {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    this.#sections ??= this.pages().then((pages) => pages.flatMap(sectionsOf));
    const sections = await this.#sections;
    return sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, limit)
      .map(({ section: { page, title, heading, text } }) => ({
        ...{ page, title, excerpt: excerptOf(text, words) },
        ...(heading !== undefined && { heading, anchor: anchorOf(heading) }),
      }));
  }

  async #read(): Promise<DocPage[]> {
    const listed = await readdir(this.#folder).catch(() => []);
    const pages = await Promise.all(
      listed
        .filter((name) => name.endsWith('.md'))
        .map(async (name) => {
          const text = await readFile(join(this.#folder, name), 'utf8');
          return { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text };
        }),
    );
    const first = pages.find(({ name }) => name === FIRST_PAGE)?.text ?? '';
    const placeOf = (name: string) => {
      const at = name === FIRST_PAGE ? 0 : first.indexOf(`](${name}`);
      return at < 0 ? Infinity : at;
    };
    return pages.sort(
      (one, other) => placeOf(one.name) - placeOf(other.name) || one.name.localeCompare(other.name),
    );
  }
}

function wordsOf(query: string): string[] {
  return foldedOf(query).split(/\s+/).filter(Boolean);
}

/** Without upper case and accents. */
function foldedOf(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function sectionsOf({ name: page, title, text }: DocPage): DocSection[] {
  const sections: DocSection[] = [];
  let lines: string[] = [];
  let heading: string | undefined;
  const end = () => {
    const plain = plainOf(lines.join(' '));
    if (heading !== undefined || plain !== '') {
      const folded = { title: foldedOf(title), heading: foldedOf(heading ?? ''), text: foldedOf(plain) };
      sections.push({ page, title, ...(heading !== undefined && { heading }), text: plain, folded });
    }
    lines = [];
  };
  let isCode = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const found = isCode ? undefined : /^#{1,4} (.+)$/.exec(line)?.[1];
    if (found === undefined) lines.push(line);
    else {
      end();
      heading = found === title ? undefined : found.replaceAll('`', '');
    }
  }
  end();
  return sections;
}

/** The text of Markdown without its marks. */
function plainOf(markdown: string): string {
  return markdown
    .replace(/\]\([^()]*\)/g, '')
    .replace(/[`*|[\]]/g, ' ')
    .replace(/-{3,}/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** 0: a word is missing. */
function scoreOf({ folded: { title, heading, text } }: DocSection, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const found = heading.includes(word) ? 10 : title.includes(word) ? 5 : text.includes(word) ? 1 : 0;
    if (found === 0) return 0;
    score += found;
  }
  // The beginning of a page is what its name means.
  return score + (heading === '' && words.every((word) => title.includes(word)) ? 10 * words.length : 0);
}

/** The text around the first of the words. */
function excerptOf(text: string, words: readonly string[]): string {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
  const from = at < EXCERPT_CHARS / 2 ? 0 : text.lastIndexOf(' ', at - EXCERPT_CHARS / 4) + 1;
  const part = text.slice(from, from + EXCERPT_CHARS);
  return `${from > 0 ? '… ' : ''}${part}${from + EXCERPT_CHARS < text.length ? ' …' : ''}`;
}
