import { DEFAULT_WITHIN_MS, type Expectation, fileOfStep, type ScenarioStep } from './scenario.ts';

const MAX_CHARS = 80;

/** A step as a person reads it in a report. */
export function describeStep(step: ScenarioStep, writer: string): string {
  const { say, send, react, edit, expect, silence, restart, group } = step;
  const place = group === undefined ? '' : ` in ${group}`;
  if (restart !== undefined)
    return restart === 'kill' ? 'the service is killed and starts again' : 'the service restarts';
  if (silence !== undefined) return `expect silence for ${silence} ms`;
  if (expect)
    return `expect ${describeExpectation(expect)} within ${expect.withinMs ?? DEFAULT_WITHIN_MS} ms`;
  if (react !== undefined)
    return react === '' ? `${writer} takes a reaction back` : `${writer} reacts ${react}`;
  if (edit !== undefined) return `${writer} edits${place}: ${quoted(edit)}`;
  if (step.delete) return `${writer} deletes a message${place}`;
  if (send === undefined) return `${writer} says${place}: ${quoted(say ?? '')}`;
  const file = fileOfStep(step);
  const named = file && ('path' in file ? file.path : (file.fileName ?? 'a file'));
  return `${writer} sends${place}: ${named}${say === undefined ? '' : `, ${quoted(say)}`}`;
}

function describeExpectation({ reaction, file, not, ...ofText }: Expectation): string {
  if (reaction !== undefined) return `the reaction ${reaction}`;
  const parts = [
    ...(file === undefined ? [] : [`has a file: ${file}`]),
    ...assertions(ofText),
    ...(not ? assertions(not).map((each) => `not: ${each}`) : []),
  ];
  return parts.length === 0 ? 'a message' : `a message that ${parts.join(', ')}`;
}

function assertions(wanted: NonNullable<Expectation['not']>): string[] {
  const { contains, equals, matches, quotes } = wanted;
  return [
    ...(contains === undefined ? [] : [`contains ${quoted(contains)}`]),
    ...(equals === undefined ? [] : [`equals ${quoted(equals)}`]),
    ...(matches === undefined ? [] : [`matches ${quoted(matches)}`]),
    ...(quotes === undefined ? [] : [`quotes ${quoted(quotes)}`]),
  ];
}

/** In quotation marks, in one line. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return `“${line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line}”`;
}
