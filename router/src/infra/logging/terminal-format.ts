import { z } from 'zod';

/** Fields that pino-pretty prints itself, or that the line begins with. */
const SHOWN_ELSEWHERE = new Set(['level', 'time', 'msg', 'mod', 'err']);

const errorSchema = z.looseObject({
  message: z.string(),
  code: z.union([z.string(), z.number()]).optional(),
  disposition: z.string().optional(),
  stack: z.string().optional(),
});

/**
 * Text of a log line for a terminal: the event, then its fields as `name=value`. An error is its sentence and code; the
 * stack follows on separate lines only when the error is not one of wa2ai's, which means a defect.
 * @param line the JSON object that pino wrote
 */
export function formatForTerminal(line: Record<string, unknown>): string {
  const prefix = typeof line.mod === 'string' ? `${line.mod}: ` : '';
  const fields = Object.entries(line).filter(([name]) => !SHOWN_ELSEWHERE.has(name));
  const error = errorSchema.safeParse(line.err);
  const parts = fields.map(([name, value]) => `${name}=${valueText(value)}`);
  if (error.success) {
    parts.push(`error=${valueText(error.data.message)}`);
    if (error.data.code !== undefined) parts.push(`code=${valueText(error.data.code)}`);
  } else if (line.err !== undefined) parts.push(`error=${valueText(line.err)}`);
  const text = [`${prefix}${line.msg ?? ''}`, ...parts].join('  ');
  const isDefect = error.success && error.data.disposition === undefined && error.data.stack !== undefined;
  return isDefect ? `${text}\n${error.data.stack}` : text;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
