import { readFileSync } from 'node:fs';

type Variables = Record<string, string | undefined>;

/** The variable that names a file with a secret, for secrets that must not be in the environment. */
export function fileVariableOf(secret: string): string {
  return `${secret}_FILE`;
}

/**
 * Reads secrets from files, as Docker and Kubernetes provide them: the file that `NAME_FILE` names becomes `NAME`. Spaces
 * and line ends around a secret are removed.
 * @param variables the variables that are set, trimmed; not changed
 * @param secrets names of the variables that are secrets
 * @param report receives one sentence for each wrong variable; it contains names and paths, never a secret
 */
export function withSecretFiles(
  variables: Variables,
  secrets: readonly string[],
  report: (name: string, sentence: string) => void,
): Variables {
  const result = { ...variables };
  for (const name of secrets) {
    const fileVariable = fileVariableOf(name);
    const path = variables[fileVariable];
    if (path === undefined) continue;
    if (variables[name] !== undefined) report(fileVariable, `must not be set together with ${name}`);
    result[name] = secretIn(path, (sentence) => report(fileVariable, sentence)) ?? variables[name];
  }
  return result;
}

function secretIn(path: string, report: (sentence: string) => void): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret !== '') return secret;
    report(`must name a file that contains a secret; ${path} is empty`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    report(`must name a file that this user can read; ${path} cannot be read${code}`);
  }
  return undefined;
}
