import { readFileSync } from 'node:fs';
import { ToolUsageError } from '../../agents/agent-tools.ts';

/**
 * The key with which a command line tool calls wa2ai: that of WA2AI_API_KEY, or of the file WA2AI_API_KEY_FILE.
 * @throws {ToolUsageError} the file cannot be read
 */
export function keyOfEnvironment(env: Record<string, string | undefined>): string | undefined {
  const file = env.WA2AI_API_KEY_FILE;
  if (!file) return env.WA2AI_API_KEY || undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new ToolUsageError(`the file of WA2AI_API_KEY_FILE cannot be read: ${file}`);
  }
}
