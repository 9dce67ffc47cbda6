import { createHash } from 'node:crypto';
import { PHRASES, say } from '../../core/phrases.ts';
import { HttpProblem } from './problem.ts';
import { invalid } from './validate.ts';

/**
 * What the `ETag` of an operation stands for: all of `data` of its response, or these fields of it. Fields are for an object
 * that also changes by itself, such as a chat with each message: its tag is that of what calls can change, and a read has no 304.
 */
export type Tagged = true | readonly string[];

/** One tag of a list, with `W/` if it is weak (RFC 9110, 8.8.3). */
const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/;

/** Throws 412 unless the client has this `data`, by its `If-Match`. */
export type IfMatch = (data: unknown) => void;

/** The strong entity tag of an object: equal objects have the same, whatever the order of their fields. */
export function etagOf(data: unknown, tagged: Tagged): string {
  const shown = tagged === true ? data : tagged.map((name) => (data as Record<string, unknown>)[name]);
  return `"${createHash('sha256').update(sortedJson(shown)).digest('base64url').slice(0, 22)}"`;
}

/**
 * @param header absent: the client has not sent one
 * @throws {HttpProblem} 400: it is neither `*` nor a list of entity tags
 */
export function ifMatchOf(header: string | undefined, tagged: Tagged): IfMatch | undefined {
  if (header === undefined) return undefined;
  const tags = tagsOf(header);
  if (!tags) {
    const message = PHRASES['field.entity-tags'];
    throw invalid('headers', [{ field: 'If-Match', message }]);
  }
  return (data) => {
    // Strong comparison: a tag with W/ is never the same (RFC 9110, 13.1.1).
    if (tags === '*' || tags.includes(etagOf(data, tagged))) return;
    throw new HttpProblem(412, 'PRECONDITION_FAILED', say('problem.changed-meanwhile'));
  };
}

/** Whether a client that sent this `If-None-Match` has the object. A header that cannot be read counts as none. */
export function isKnown(header: string | undefined, etag: string): boolean {
  const tags = header === undefined ? undefined : tagsOf(header);
  // Weak comparison (RFC 9110, 13.1.2).
  return tags === '*' || (tags?.some((each) => each.replace(/^W\//, '') === etag) ?? false);
}

/** Undefined: it is no list of tags. A tag may contain commas. */
function tagsOf(header: string): '*' | string[] | undefined {
  if (header.trim() === '*') return '*';
  const tags: string[] = [];
  let rest = header.trim();
  while (rest !== '') {
    const [tag] = TAG.exec(rest) ?? [];
    if (tag === undefined) return undefined;
    tags.push(tag);
    const after = rest.slice(tag.length).trimStart();
    if (after !== '' && !after.startsWith(',')) return undefined;
    // Empty elements of a list count for nothing (RFC 9110, 5.6.1).
    rest = after.replace(/^[,\s]+/, '');
  }
  return tags.length > 0 ? tags : undefined;
}

/** JSON with the fields of each object in one order: PostgreSQL returns those of `jsonb` in another one than they were written. */
function sortedJson(value: unknown): string {
  return (
    JSON.stringify(value, (_name, each: unknown) =>
      typeof each === 'object' && each !== null && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    ) ?? ''
  );
}
