import { readFileSync } from 'node:fs';
import { MAX_YAML_BYTES, parseYaml } from '../../infra/operations/form.ts';
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
 * The body of a call, from a file with JSON, or with YAML that the API would read too.
 * @throws {CliUsageError} it cannot be read, or is neither
 */
export async function bodyOfFile(file: string): Promise<unknown> {
  const text = textOfFile(file);
  try {
    return JSON.parse(text);
  } catch {
    const parsed = await parseYaml(text, MAX_YAML_BYTES);
    if ('value' in parsed) return parsed.value;
    throw new CliUsageError(`the file is neither JSON nor YAML: ${file}: ${parsed.message}`);
  }
}
