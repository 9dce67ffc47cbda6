import { describe, expect, it, onTestFinished } from 'vitest';
import { type AgentKind, inspectAgent } from '../../../../router/src/infra/agents/agent-kind.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';
import { type AgentTools, ToolUsageError } from '../../../../router/src/infra/agents/agent-tools.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../router/src/infra/agents/transport/egress.ts';
import { StandInServer } from '../../../doubles/stand-in-server.ts';
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

  it('says whether anything answers when no kind recognizes it', async () => {
    const kinds = [kindOf('a', false, () => ({}))];
    expect(await inspectAgent({ ...deps, kinds }, 'http://127.0.0.1:9')).toBe('no-answer');
    const server = await StandInServer.start(() => ({ status: 404 }));
    onTestFinished(() => server.close());
    expect(await inspectAgent({ ...deps, kinds }, server.url)).toBe('unknown-protocol');
  });

  it('takes a server that answers 404 to everything for no agent of any kind', async () => {
    const server = await StandInServer.start(() => ({ status: 404 }));
    onTestFinished(() => server.close());
    expect(await inspectAgent({ ...deps, kinds: agentKinds }, server.url)).toBe('unknown-protocol');
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
