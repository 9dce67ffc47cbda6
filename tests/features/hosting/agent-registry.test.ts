import { describe, expect, it } from 'vitest';
import type { HostedAgent } from '../../../router/src/core/hosting/agent-life.ts';
import type { AgentRegistry } from '../../../router/src/core/ports/agent-registry.ts';
import { PostgresAgentRegistry } from '../../../router/src/features/hosting/postgres-agent-registry.ts';
import { MemoryAgentRegistry } from '../../doubles/memory-agent-registry.ts';
import { testDatabase } from '../../support/database.ts';

function anAgent(agentId: string, idleMs = 1_000): HostedAgent {
  return {
    ...{ agentId, idleMs, accountId: 'default', routeId: 'r1' },
    spec: {
      ...{ runtime: 'docker', image: 'agent:1', profile: 'chat', port: 8080, env: { KEY: 'a secret' } },
      ...{ memoryMb: 64, cpus: 1, pids: 64, network: 'internet', pull: 'missing' },
    },
  };
}

const database = testDatabase();

describe.each([
  { name: 'memory', open: (): AgentRegistry => new MemoryAgentRegistry() },
  { name: 'PostgreSQL', open: (): AgentRegistry => new PostgresAgentRegistry(database.open()) },
])('hosted agents in $name', ({ open }) => {
  it('belong to the node that claims them first', async () => {
    const registry = open();
    const first = await registry.claim(anAgent('a1'), 'n1', 'f1');
    expect(first).toMatchObject({ nodeId: 'n1', folderId: 'f1', phase: 'absent', isDeleting: false });
    expect(first.agent).toEqual(anAgent('a1'));
    const second = await registry.claim(anAgent('a1', 5), 'n2', 'f2');
    expect(second).toMatchObject({ nodeId: 'n1', folderId: 'f1', agent: { idleMs: 1_000 } });
    const changed = { ...anAgent('a1', 7), options: { appName: 'x' }, timeoutMs: 9 };
    const again = await registry.claim(changed, 'n1', 'f1');
    expect(again.agent).toEqual(changed);
    expect((await registry.get('a1'))?.agent).toEqual(changed);
  });

  it('move once from a node', async () => {
    const registry = open();
    await registry.claim(anAgent('a2'), 'n1', 'f1');
    await expect(registry.move('a2', 'n1', 'n2', 'f1')).resolves.toBe(true);
    await expect(registry.move('a2', 'n1', 'n3', 'f1')).resolves.toBe(false);
    expect((await registry.get('a2'))?.nodeId).toBe('n2');
  });

  it('have the phase that their node stored', async () => {
    const registry = open();
    await registry.claim(anAgent('a3'), 'n1', 'f1');
    await registry.update('a3', 'n2', { phase: 'ready', lastActivityMs: 5_000 });
    expect((await registry.get('a3'))?.phase).toBe('absent');
    await registry.update('a3', 'n1', { phase: 'failed', lastActivityMs: 5_000, problem: 'It ended.' });
    expect(await registry.get('a3')).toMatchObject({
      phase: 'failed',
      lastActivityMs: 5_000,
      problem: 'It ended.',
    });
    await registry.update('a3', 'n1', { phase: 'ready', lastActivityMs: 6_000 });
    expect((await registry.get('a3'))?.problem).toBeUndefined();
  });

  it('are listed by id, of one node or of all', async () => {
    const registry = open();
    await registry.claim(anAgent('c2'), 'n8', 'f1');
    await registry.claim(anAgent('c1'), 'n8', 'f1');
    await registry.claim(anAgent('c3'), 'n9', 'f1');
    const ids = (records: Array<{ agent: HostedAgent }>) => records.map(({ agent }) => agent.agentId);
    expect(ids(await registry.list({ nodeId: 'n8' }))).toEqual(['c1', 'c2']);
    expect(ids(await registry.list())).toEqual(expect.arrayContaining(['c1', 'c2', 'c3']));
    expect(ids(await registry.list({ nodeId: 'n8', after: 'c1' }))).toEqual(['c2']);
    expect(ids(await registry.list({ after: 'c1', limit: 2 }))).toEqual(['c2', 'c3']);
    const { routeId: _, ...free } = anAgent('c4');
    await registry.claim(free, 'n8', 'f1');
    expect(ids(await registry.list({ nodeId: 'n8', routeId: 'r1' }))).toEqual(['c1', 'c2']);
    await expect(registry.list({ routeId: 'none' })).resolves.toEqual([]);
  });

  it('are marked before they are deleted', async () => {
    const registry = open();
    await expect(registry.markDeleting('d0')).resolves.toBe(false);
    await registry.claim(anAgent('d1'), 'n1', 'f1');
    await expect(registry.markDeleting('d1')).resolves.toBe(true);
    expect((await registry.get('d1'))?.isDeleting).toBe(true);
    await registry.delete('d1');
    await expect(registry.get('d1')).resolves.toBeUndefined();
  });
});
