import type { Request } from 'express';
import { invalid } from './validate.ts';

/** Whether the body of a request is YAML. */
export function isYaml(request: Pick<Request, 'get'>): boolean {
  const type = request.get('content-type') ?? '';
  return /^(?:application|text)\/(?:x-)?yaml *(;|$)/i.test(type);
}

/**
 * The value of a YAML document.
 * @throws {HttpProblem} 400: it is not YAML, or expands to too much
 */
export async function readYaml(text: string): Promise<unknown> {
  const { parse } = await loadYaml();
  try {
    return parse(text, { maxAliasCount: 100, logLevel: 'error' });
  } catch (error) {
    const [line] = error instanceof Error ? error.message.split('\n') : [];
    throw invalid('body', [{ field: '', message: `is not YAML: ${line?.replace(/[.:]$/, '')}` }]);
  }
}

/** A value as YAML. Texts that look like numbers are quoted. */
export async function writeYaml(value: unknown): Promise<string> {
  const { stringify } = await loadYaml();
  return stringify(value, { lineWidth: 0 });
}

/** Loaded with its first use: the service starts without it. */
function loadYaml() {
  return import('yaml');
}
