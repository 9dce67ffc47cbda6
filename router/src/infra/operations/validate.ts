import type { z } from 'zod';
import { cleanText } from '../../core/clean-text.ts';
import { type Phrase, type Said, saidBy, say } from '../../core/phrases.ts';
import { HttpProblem, mistakeAt, type ProblemCode, type ProblemDetail } from './problem.ts';

const MAX_DEPTH = 32;
const MAX_DETAILS = 20;

/** An issue with this key in its `params` sets the code of the whole problem. */
export const PROBLEM_CODE = 'problemCode';

/** A part of a request, as problems name it. */
type RequestPart = 'body' | 'query' | 'headers';

const CODES = { body: 'INVALID_BODY', query: 'INVALID_QUERY', headers: 'INVALID_HEADERS' } as const;

/**
 * The value as parsed by the schema.
 * @throws {HttpProblem} 400 with one sentence per mistake, each with the field's path
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, what: RequestPart): T {
  const unstorable = findUnstorable(value);
  if (unstorable) throw invalid(what, [unstorable]);
  const parsed = schema.safeParse(value, { error: (issue) => usualMistake(issue)?.sentence });
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.flatMap(detailsOf);
  const code = parsed.error.issues.map((issue) =>
    issue.code === 'custom' ? issue.params?.[PROBLEM_CODE] : undefined,
  );
  throw invalid(
    what,
    details,
    code.find((candidate) => candidate !== undefined),
  );
}

/** A 400 with one sentence per mistake, at most 20. */
export function invalid(
  what: RequestPart,
  details: readonly ProblemDetail[],
  code: ProblemCode = CODES[what],
): HttpProblem {
  const shown = details.slice(0, MAX_DETAILS);
  const sentence = shown.map(({ field, message }) => `${field || `The ${what}`} ${message}.`).join(' ');
  return new HttpProblem(400, code, sentence, shown);
}

function detailsOf(issue: z.core.$ZodIssue): ProblemDetail[] {
  const path = issue.path.map(String);
  if (issue.code !== 'unrecognized_keys') return [mistakeAt(path.join('.'), mistakeOf(issue))];
  return issue.keys.map((key) => mistakeAt([...path, shortened(key)].join('.'), say('field.unknown')));
}

/** What an issue says: its own phrase, that of its kind, or only its message. */
function mistakeOf(issue: z.core.$ZodIssue): Said {
  if (issue.code === 'custom' && issue.params?.phrase) {
    return { sentence: issue.message, phrase: issue.params.phrase as Phrase };
  }
  const usual = usualMistake(issue);
  return usual?.sentence === issue.message ? usual : saidBy(issue.message);
}

/** What a custom issue has besides its place, to say this. */
export function issueOf({ sentence, phrase }: Said): { message: string; params: { phrase?: Phrase } } {
  return { message: sentence, params: { ...(phrase && { phrase }) } };
}

/** What issues without a message of their own say. Each follows the field's name. */
function usualMistake(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): Said | undefined {
  if (issue.input === undefined && 'input' in issue && issue.code !== 'unrecognized_keys')
    return say('field.missing');
  switch (issue.code) {
    case 'invalid_type': {
      const { expected } = issue;
      if (expected === 'object' || expected === 'record') return say('field.json-object');
      const isNamed = ['string', 'number', 'boolean', 'array', 'int'].includes(expected);
      return say('field.type', { type: isNamed ? say(`type.${expected}` as 'type.string') : expected });
    }
    case 'invalid_value':
      return say('field.one-of', { values: issue.values.map(String).join(' or ') });
    case 'too_small': {
      const min = String(issue.minimum);
      return issue.origin === 'string' ? say('field.min-chars', { min }) : say('field.at-least', { min });
    }
    case 'too_big': {
      const max = String(issue.maximum);
      return issue.origin === 'string' ? say('field.max-chars', { max }) : say('field.at-most', { max });
    }
    case 'invalid_key':
      return say('field.bad-name');
    default:
      return undefined;
  }
}

/** The first text that PostgreSQL cannot store, or nesting that is too deep. Walks without recursion: the caller chooses the depth. */
export function findUnstorable(root: unknown): ProblemDetail | undefined {
  const open: Array<{ value: unknown; path: string; depth: number }> = [{ value: root, path: '', depth: 0 }];
  for (let item = open.pop(); item; item = open.pop()) {
    const { value, path, depth } = item;
    if (typeof value === 'string' && cleanText(value) !== value) {
      return mistakeAt(path, say('field.unicode'));
    }
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
    if (depth >= MAX_DEPTH) return mistakeAt('', say('field.depth', { levels: MAX_DEPTH }));
    for (const [key, child] of Object.entries(value)) {
      if (cleanText(key) !== key) return mistakeAt(path, say('field.unicode'));
      open.push({
        value: child,
        path: path ? `${path}.${shortened(key)}` : shortened(key),
        depth: depth + 1,
      });
    }
  }
  return undefined;
}

function shortened(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}…` : key;
}
