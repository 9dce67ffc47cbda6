import { expect, it } from 'vitest';
import { reachFinding } from '../../../../router/src/infra/agents/agent-kind.ts';

const fields = { address: 'agentEndpoint', headers: 'config.x.headers' };
const finding = (found: { status?: number; problem?: string }) =>
  reachFinding('agent at http://a', found, fields);

it('names the address when nothing answers', () => {
  expect(finding({ problem: 'connection refused' })).toEqual({
    code: 'AGENT_UNREACHABLE',
    field: 'agentEndpoint',
    message: 'The agent at http://a cannot be reached: connection refused. Start it, or correct the address.',
  });
});

it.each([401, 403])('names the headers when the agent answers %i', (status) => {
  expect(finding({ status })).toMatchObject({ code: 'AGENT_ACCESS_DENIED', field: 'config.x.headers' });
});

it.each([200, 404, 500])('finds nothing when the agent answers %i', (status) => {
  expect(finding({ status })).toBeUndefined();
});
