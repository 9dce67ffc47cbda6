import { spawn } from 'node:child_process';

/**
 * Runs a program and returns its trimmed output, of stdout or of both streams.
 * @throws with the output when the program cannot be started, exits with another code than 0, or exceeds the limit
 */
export function run(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; limitMs?: number; withStderr?: boolean } = {},
): Promise<string> {
  const { env, limitMs = 120_000, withStderr = false } = options;
  return new Promise((resolve, reject) => {
    let stdout = '';
    let all = '';
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
    });
    child.stdout.on('data', (bytes) => {
      stdout += bytes;
      all += bytes;
    });
    child.stderr.on('data', (bytes) => {
      all += bytes;
    });
    child.once('error', (error) => reject(new Error(`${program} cannot be run: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) resolve((withStderr ? all : stdout).trim());
      else
        reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}:\n${all.slice(-4_000)}`));
    });
  });
}

/** Runs `docker` and parses its output as JSON. */
export async function dockerJson<T>(...args: string[]): Promise<T> {
  return JSON.parse(await run('docker', args)) as T;
}
