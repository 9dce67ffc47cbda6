import { readFileSync } from 'node:fs';

/** Where the variables of secret files lead: each replaces what must not stand in an environment that others can read. */
const KEY_FILE = 'WA2AI_API_KEY_FILE';
const PASSWORD_FILE = 'DATABASE_PASSWORD_FILE';

type Variables = Record<string, string | undefined>;

/**
 * Puts secrets kept in files, as Docker and Kubernetes hand them over, to where they are read: the key of
 * WA2AI_API_KEY_FILE as WA2AI_API_KEY, the password of DATABASE_PASSWORD_FILE into DATABASE_URL, encoded. Spaces and line
 * ends around a secret do not belong to it.
 * @param variables those that are set, trimmed; not changed
 * @param report takes one sentence a wrong variable; it holds names and paths, never a secret
 */
export function withSecretFiles(
  variables: Variables,
  report: (name: string, sentence: string) => void,
): Variables {
  const result = { ...variables };
  const key = secretOf(KEY_FILE, variables, report);
  if (key !== undefined) {
    if (variables.WA2AI_API_KEY) report(KEY_FILE, 'must not be set together with WA2AI_API_KEY');
    result.WA2AI_API_KEY = key;
  }
  const password = secretOf(PASSWORD_FILE, variables, report);
  if (password !== undefined) {
    const url = URL.canParse(variables.DATABASE_URL ?? '')
      ? new URL(variables.DATABASE_URL ?? '')
      : undefined;
    if (url === undefined) report(PASSWORD_FILE, 'must come with a DATABASE_URL that it belongs to');
    else if (url.password) report(PASSWORD_FILE, 'must not be set when DATABASE_URL holds a password');
    else {
      url.password = encodeURIComponent(password);
      result.DATABASE_URL = url.href;
    }
  }
  return result;
}

function secretOf(
  name: string,
  variables: Variables,
  report: (name: string, sentence: string) => void,
): string | undefined {
  const path = variables[name];
  if (path === undefined) return undefined;
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret !== '') return secret;
    report(name, `must name a file with a secret in it; ${path} is empty`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    report(name, `must name a file that this user can read; ${path} is none${code}`);
  }
  return undefined;
}
