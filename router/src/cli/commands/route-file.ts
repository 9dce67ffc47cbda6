import { readFileSync } from 'node:fs';
import { CliUsageError } from '../exit-code.ts';

/**
 * The text of a file.
 * @param file its path, or - for standard input
 * @throws {CliUsageError} it cannot be read
 */
export function textOfFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new CliUsageError(`the file cannot be read: ${file}`);
  }
}

/**
 * The body of a call, from a file with JSON or YAML.
 * @throws {CliUsageError} it cannot be read, or is neither
 */
export async function bodyOfFile(file: string): Promise<unknown> {
  const text = textOfFile(file);
  const { parse } = await import('yaml');
  try {
    return parse(text, { maxAliasCount: 100, logLevel: 'error' });
  } catch {
    throw new CliUsageError(`the file is neither JSON nor YAML: ${file}`);
  }
}
