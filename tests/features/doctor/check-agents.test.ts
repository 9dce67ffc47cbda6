import { describe, expect, it } from 'vitest';
import {
  checkAgents,
  coveredFindings,
  hostedFindings,
} from '../../../router/src/features/doctor/check-agents.ts';
import type { ProbeFinding } from '../../../router/src/infra/agents/agent-kind.ts';

const route = { id: 'r1', name: 'shop', enabled: true, agentEndpoint: 'http://agent:8000/secret-path' };

const found =
  (code: ProbeFinding['code'], message = 'A sentence.') =>
  async () => ({
    kind: 'adk',
    isProbed: true,
    findings: [{ code, field: 'agentEndpoint', message }],
    milliseconds: 1,
  });

describe('wa2ai doctor about agents', () => {
  it('counts the routes whose agents answer, with their kinds, and does not call those of disabled routes', async () => {
    const called: string[] = [];
    const routes = [route, { ...route, id: 'r2' }, { ...route, id: 'r3', enabled: false }];
    const findings = await checkAgents(routes, async (id) => {
      called.push(id);
      return { kind: id === 'r1' ? 'npc' : 'a2a', isProbed: true, findings: [], milliseconds: 1 };
    });
    expect(findings).toEqual([
      { check: 'agents', level: 'ok', message: 'The agents of 2 routes answer (a2a, npc).' },
    ]);
    expect(called).toEqual(['r1', 'r2']);
  });

  it('says nothing about kinds that cannot be probed', async () => {
    const test = async () => ({ kind: 'echo', isProbed: false, findings: [], milliseconds: 0 });
    expect(await checkAgents([route], test)).toEqual([]);
  });

  it.each([
    ['AGENT_UNREACHABLE', 'error', 'wa2ai agent check http://agent:8000'],
    ['AGENT_ACCESS_DENIED', 'error', 'wa2ai routes edit r1'],
    ['AGENT_APP_UNKNOWN', 'error', 'wa2ai routes edit r1'],
    ['AGENT_MANIFEST', 'warning', 'wa2ai agent inspect http://agent:8000'],
  ] as const)('reports %s as %s with a fix, without the path of the agent', async (code, level, fix) => {
    const [finding] = await checkAgents([route], found(code));
    expect(finding).toMatchObject({ level, message: 'Route shop (adk): A sentence.' });
    expect(finding?.fix).toContain(fix);
    expect(JSON.stringify(finding)).not.toContain('secret-path');
  });

  it('reports the same sentence once', async () => {
    expect(await checkAgents([route, route], found('AGENT_UNREACHABLE'))).toHaveLength(1);
  });

  it('warns when there is no route', async () => {
    expect(await checkAgents([], found('AGENT_MANIFEST'))).toMatchObject([
      { level: 'warning', message: /no message is answered/ },
    ]);
  });

  it('warns about a route of which another one takes each message', () => {
    const rule = { ...route, accountId: 'default', environment: 'lab', channelId: '*', config: {} } as const;
    const routes = [
      rule,
      { ...rule, id: 'r2', name: 'night' },
      { ...rule, id: 'r3', channelId: '34600000001' },
    ];
    expect(coveredFindings(routes)).toMatchObject([
      {
        check: 'routes',
        level: 'warning',
        message: 'Route night gets no message: shop before it takes each of them.',
      },
    ]);
  });

  it('reports hosted agents with a problem', () => {
    expect(hostedFindings([{ id: 'a' }, { id: 'b', problem: 'No space is left.' }])).toMatchObject([
      { level: 'error', message: 'The hosted agent b does not run: No space is left.', fix: /agents logs b/ },
    ]);
  });
});
