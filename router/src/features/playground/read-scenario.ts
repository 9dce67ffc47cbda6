import type { Document, LineCounter, Node } from 'yaml';
import type { z } from 'zod';
import { PHRASES } from '../../core/phrases.ts';
import { parseYaml } from '../../infra/operations/form.ts';
import { type Scenario, scenarioSchema } from './scenario.ts';

/** What is wrong with the text of a scenario. */
export interface ScenarioProblem {
  /** From 1. */
  line: number;
  /** Where: `steps.2.expect.withinMs`; empty: the whole. */
  field: string;
  /** Follows the field. */
  message: string;
}

export type ReadScenario = { scenario: Scenario } | { problems: ScenarioProblem[] };

/** The largest text of a scenario, in bytes: with the bytes of files, as base64. */
export const MAX_SCENARIO_BYTES = 8_000_000;

/** Reads the YAML of a scenario. Never throws for a text. */
export async function readScenario(text: string): Promise<ReadScenario> {
  const { LineCounter } = await import('yaml');
  const lines = new LineCounter();
  const read = await parseYaml(text, MAX_SCENARIO_BYTES, lines);
  if (!('value' in read)) {
    const { line } = lines.linePos(read.at);
    return { problems: [{ line: Math.max(line, 1), field: '', message: `is not YAML: ${read.message}` }] };
  }
  const { document, value } = read;
  const parsed = scenarioSchema.safeParse(value, { error: sentenceOf });
  if (parsed.success) return { scenario: parsed.data };
  return { problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, document, lines)) };
}

/** A problem as one sentence. */
export function sentenceOfProblem({ line, field, message }: ScenarioProblem): string {
  return `line ${line}: ${field === '' ? 'the scenario' : field} ${message}`;
}

function problemsOf(issue: z.core.$ZodIssue, document: Document, lines: LineCounter): ScenarioProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const at = (field: ReadonlyArray<string | number>, message: string) => ({
    ...{ line: lineOf(field, document, lines), field: field.join('.'), message },
  });
  if (issue.code !== 'unrecognized_keys') return [at(path, issue.message)];
  return issue.keys.map((key) => at([...path, key], PHRASES['field.unknown-word']));
}

/** The line of the field, else of what should contain it. */
function lineOf(path: ReadonlyArray<string | number>, document: Document, lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as Node | undefined;
    const start = typeof node === 'object' ? node?.range?.[0] : undefined;
    if (start !== undefined) return lines.linePos(start).line;
  }
  return 1;
}

/** Messages for issues without one of their own. Each follows the field's name. */
function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys' || issue.code === 'custom') return undefined;
  if (issue.input === undefined) return PHRASES['field.missing'];
  if (issue.code === 'invalid_type') return `must be ${KINDS[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`;
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`;
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`;
  return undefined;
}

const KINDS: Record<string, string> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a list of names and values',
  record: 'a list of names and values',
};
