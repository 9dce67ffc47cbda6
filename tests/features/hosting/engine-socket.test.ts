import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EngineUnavailableError } from '../../../router/src/core/hosting/hosting-errors.ts';
import { engineSocket, socketCandidates } from '../../../router/src/features/hosting/docker-engine.ts';

describe('engineSocket', () => {
  it('takes the configured one before DOCKER_HOST', async () => {
    await expect(engineSocket('unix:///a.sock', { DOCKER_HOST: 'unix:///b.sock' })).resolves.toBe('/a.sock');
    await expect(engineSocket(undefined, { DOCKER_HOST: '/b.sock' })).resolves.toBe('/b.sock');
  });

  it('refuses an engine of another machine', async () => {
    const refused = engineSocket('tcp://10.0.0.1:2375', {});
    await expect(refused).rejects.toThrow(EngineUnavailableError);
    await expect(refused).rejects.toThrow('WA2AI_CONTAINER_ENGINE');
  });

  it('finds the podman socket of the user', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wa2ai-run-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const server = createServer().listen(join(folder, 'docker.sock'));
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const env = { XDG_RUNTIME_DIR: folder };
    expect(socketCandidates(env)).toContain(join(folder, 'podman/podman.sock'));
    // Machines with an engine have one of the sockets that come first.
    const found = await engineSocket(undefined, env);
    expect(socketCandidates(env)).toContain(found);
  });
});
