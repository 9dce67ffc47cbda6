import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { EngineUnavailableError } from '../../core/hosting/hosting-errors.ts';

/** Where engines listen, in the order in which wa2ai looks. */
export function socketCandidates(env: Readonly<Record<string, string | undefined>>): string[] {
  const runtimeDir = env.XDG_RUNTIME_DIR;
  return [
    '/var/run/docker.sock',
    join(homedir(), '.docker/run/docker.sock'),
    ...(runtimeDir ? [join(runtimeDir, 'docker.sock'), join(runtimeDir, 'podman/podman.sock')] : []),
    '/run/podman/podman.sock',
  ];
}

/**
 * Path of the engine's socket: the configured one, DOCKER_HOST, or the first that exists.
 * @param configured `unix:///path` or a path
 * @throws {EngineUnavailableError} the sentence names the paths
 */
export async function engineSocket(
  configured: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const named = configured ?? env.DOCKER_HOST;
  if (named) {
    const path = named.replace(/^unix:\/\//, '');
    if (/^\//.test(path)) return path;
    throw new EngineUnavailableError(
      `The container engine ${named} cannot be used: wa2ai starts containers on this machine only, so the address must be unix:// and a path. Set WA2AI_CONTAINER_ENGINE.`,
    );
  }
  const candidates = socketCandidates(env);
  for (const path of candidates) {
    const isSocket = await stat(path).then(
      (found) => found.isSocket(),
      () => false,
    );
    if (isSocket) return path;
  }
  throw new EngineUnavailableError(
    `There is no container engine: none of ${candidates.join(', ')} exists. Start Docker or podman, set WA2AI_CONTAINER_ENGINE, or use the runtime "process".`,
  );
}
