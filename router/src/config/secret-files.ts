import { readFileSync } from 'node:fs';

/** Variables that name a file with a secret, for secrets that must not be in the environment. */
const KEY_FILE = 'WA2AI_API_KEY_FILE';
const PASSWORD_FILE = 'DATABASE_PASSWORD_FILE';

type Variables = Record<string, string | undefined>;

/**
 * Reads secrets from files, as Docker and Kubernetes provide them: WA2AI_API_KEY_FILE becomes WA2AI_API_KEY, and
 * DATABASE_PASSWORD_FILE becomes the password in DATABASE_URL, encoded. Spaces and line ends around a secret are removed.
 * @param variables the variables that are set, trimmed; not changed
 * @param report receives one sentence for each wrong variable; it contains names and paths, never a secret
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
    if (url === undefined)
      report(PASSWORD_FILE, 'must not be set without DATABASE_URL, whose password it contains');
    else if (url.password) report(PASSWORD_FILE, 'must not be set when DATABASE_URL contains a password');
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
    report(name, `must name a file that contains a secret; ${path} is empty`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    report(name, `must name a file that this user can read; ${path} cannot be read${code}`);
  }
  return undefined;
}
