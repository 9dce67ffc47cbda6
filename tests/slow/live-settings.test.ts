import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env: { WA2AI_AGENT_TRY_FOR: '0' } });
});

afterAll(() => bed.close());

const put = async (settings: object) =>
  expect((await bed.service.api('PUT', '/api/settings/service', settings)).status).toBe(200);

it('settings of the service apply while it runs', async () => {
  const person = bed.person();
  const agent = await bed.anotherAgent(['--mode', 'hang']);
  await bed.service.addRoute(person.phone, agent.url, { config: { adk: { appName: 'test_agent' } } });
  await put({ agentTimeoutMs: 300, exchanges: 'off', logLevel: 'warn' });
  const quiet = bed.service.lines.length;
  const id = await person.say('hello', { to: bed.phone });
  const row = await bed.untilTurnEnded(id);
  expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_TIMEOUT' });
  const stored = await bed.service.api('GET', `/api/messages/${row.id}/exchanges`);
  expect(stored.body.data).toEqual([]);

  await put({ agentTimeoutMs: 300, logLevel: 'debug' });
  const from = bed.service.lines.length;
  const again = await bed.untilTurnEnded(await person.say('again', { to: bed.phone }));
  await bed.service.untilLog(({ msg }) => msg === 'turn ended', 10_000, from);
  const kept = await bed.service.api('GET', `/api/messages/${again.id}/exchanges`);
  expect(kept.body.data).not.toEqual([]);
  // One of the two turns was logged.
  const ended = bed.service.lines.slice(quiet).filter(({ msg }) => msg === 'turn ended');
  expect(ended).toHaveLength(1);
});
