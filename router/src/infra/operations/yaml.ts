import type { Request } from 'express';
import { MAX_YAML_BYTES, parseYaml } from './parse-yaml.ts';
import { invalid } from './validate.ts';

/** Whether the body of a request is YAML. */
export function isYaml(request: Pick<Request, 'get'>): boolean {
  const type = request.get('content-type') ?? '';
  return /^(?:application|text)\/(?:x-)?yaml *(;|$)/i.test(type);
}

/**
 * The value of a YAML document of at most `MAX_YAML_BYTES`.
 * @throws {HttpProblem} 400: it is not YAML, or has aliases, a key twice, or too many values or levels
 */
export async function readYaml(text: string): Promise<unknown> {
  const parsed = await parseYaml(text, MAX_YAML_BYTES);
  if ('value' in parsed) return parsed.value;
  throw invalid('body', [{ field: '', message: `is not YAML: ${parsed.message}` }]);
}

/** A value as YAML, without aliases. Texts that look like numbers are quoted. */
export async function writeYaml(value: unknown): Promise<string> {
  // Loaded with its first use: the service starts without it.
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
