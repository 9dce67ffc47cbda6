import type { z } from 'zod';
import { cleanText } from '../../core/clean-text.ts';
import { HttpProblem, type ProblemCode, type ProblemDetail } from './problem.ts';

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
  const parsed = schema.safeParse(value, { error: sentenceOf });
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
  if (issue.code !== 'unrecognized_keys') return [{ field: path.join('.'), message: issue.message }];
  return issue.keys.map((key) => ({
    field: [...path, shortened(key)].join('.'),
    message: 'is not a known field',
  }));
}

/** Messages for issues without one of their own. Each follows the field's name. */
function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'object' || issue.expected === 'record') return 'must be a JSON object';
      return `must be a ${issue.expected === 'int' ? 'whole number' : issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return issue.origin === 'string'
        ? `must have at least ${issue.minimum} characters`
        : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    case 'invalid_key':
      return 'has a name that is not allowed';
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
      return { field: path, message: 'must not contain NUL characters or invalid Unicode' };
    }
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
    if (depth >= MAX_DEPTH)
      return { field: '', message: `must not be nested deeper than ${MAX_DEPTH} levels` };
    for (const [key, child] of Object.entries(value)) {
      if (cleanText(key) !== key)
        return { field: path, message: 'must not contain NUL characters or invalid Unicode' };
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
