import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
let agent: NpcDouble;
let routeId: string;

beforeAll(async () => {
  bed = await TestBed.startPaired();
  agent = await NpcDouble.start({ apiKey: 'npc-key-1' });
  const route = await bed.service.addRoute('5491100000000', agent.url, {
    config: { adk: undefined, npc: { apiKey: 'npc-key-1', waitMs: 60_000 } },
  });
  routeId = route.id;
  const settings = { enabled: true, name: 'Guard', routeId };
  expect((await bed.service.api('PUT', '/api/settings/npc', settings)).status).toBe(200);
});

afterAll(async () => {
  await bed.close();
  await agent.stop();
});

async function rpc(method: string, params: unknown): Promise<Record<string, unknown>> {
  const { status, body } = await bed.service.api('POST', '/rpc', { jsonrpc: '2.0', method, params, id: 1 });
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
  return body.result as Record<string, unknown>;
}

/** The last event of a task, from its stream. */
async function endOf(taskId: unknown): Promise<string> {
  const response = await fetch(`${bed.service.url}/stream/${taskId}`);
  const events = (await response.text()).split('\n\n').filter((event) => event.includes('event: '));
  return events.at(-1) ?? '';
}

describe('another agent that calls wa2ai as an NPC', () => {
  it('reads the card, opens tasks, and gets their events', async () => {
    const { body } = await bed.service.api('GET', '/.well-known/agent-card');
    expect(body).toMatchObject({ name: 'Guard', capabilities: ['social', 'trade', 'emotion', 'memory'] });
    const feeling = { type: 'emotion', params: { trigger: 'gift', intensity: 80 } };
    const { taskId } = await rpc('task.open', feeling);
    expect(await endOf(taskId)).toMatch(/event: task\.completed\n.*"mood":"gift"/);
    const remembered = { type: 'memory', params: { memoryType: 'event', content: 'we met at the gate' } };
    await endOf((await rpc('task.open', remembered)).taskId);
    const greeting = { type: 'social', params: { action: 'greet', message: 'the gate?' } };
    expect(await endOf((await rpc('task.open', greeting)).taskId)).toContain('the gate?');
    const heard = String(agent.opened('social').at(-1)?.params.message);
    expect(heard).toContain('You feel: gift 80 of 100.');
    expect(heard).toContain('You remember (event): we met at the gate');
    expect(await rpc('task.list', { limit: 2 })).toMatchObject({ totalTasks: 3, tasks: [{}, {}] });
  });

  it('has its answer said once on WhatsApp, also when wa2ai is killed while the agent works', async () => {
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    agent.options = { ...agent.options, onOpen: () => undefined };
    const before = agent.opened('social').length;
    const params = { action: 'greet', message: 'Say hi', to: ana.phone };
    const { taskId } = await rpc('task.open', { type: 'social', params });
    await expect.poll(() => agent.openStreams).toBeGreaterThan(0);
    await bed.service.end('SIGKILL');
    await bed.restartService();
    await expect.poll(() => agent.openStreams, { timeout: 30_000 }).toBeGreaterThan(0);
    agent.complete(agent.opened('social').at(-1)?.taskId ?? '', { message: 'Hi from the guard' });
    expect((await ana.nextReply(60_000)).text).toBe('Hi from the guard');
    expect(await endOf(taskId)).toContain('event: task.completed');
    expect(agent.opened('social')).toHaveLength(before + 1);
    await ana.say('thanks', { to: bed.phone });
    await ana.nextReply();
    expect(ana.received.filter(({ text }) => text === 'Hi from the guard')).toHaveLength(1);
  });
});
