import { describe, expect, it } from 'vitest';
import type { AgentKind } from '../../../../router/src/infra/agents/agent-kind.ts';
import { type AgentTools, ToolUsageError } from '../../../../router/src/infra/agents/agent-tools.ts';
import { inspectAgent } from '../../../../router/src/infra/agents/inspect-agent.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../router/src/infra/agents/transport/egress.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const URL = 'http://localhost:8000';

function kindOf(name: string, isThere: boolean, inspect: () => object): AgentKind {
  const tool = { summary: '', options: [], run: async () => ({ report: inspect(), text: '', isGood: true }) };
  const tools: AgentTools = { detect: async () => isThere, inspect: tool, test: tool, check: tool };
  return { name, tools } as unknown as AgentKind;
}

const deps = { transport: new AgentTransport(new Egress('any')), clock: new FakeClock() };

describe('inspectAgent', () => {
  it('asks the first kind that recognizes the agent', async () => {
    const kinds = ['a', 'b', 'c'].map((name) => kindOf(name, name !== 'a', () => ({ kind: name, url: URL })));
    expect(await inspectAgent({ ...deps, kinds }, URL)).toEqual({ kind: 'b', url: URL });
  });

  it('finds nothing when no kind does', async () => {
    expect(await inspectAgent({ ...deps, kinds: [kindOf('a', false, () => ({}))] }, URL)).toBeUndefined();
  });

  it('names the kind when a person must say more about the agent', async () => {
    const fails = () => {
      throw new ToolUsageError('--app is missing');
    };
    expect(await inspectAgent({ ...deps, kinds: [kindOf('adk', true, fails)] }, URL)).toMatchObject({
      ...{ kind: 'adk', answer: '--app is missing', isReachable: true },
    });
  });
});
