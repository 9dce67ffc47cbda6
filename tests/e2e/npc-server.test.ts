import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { NpcCaller } from '../support/npc-caller.ts';
import { runs } from '../support/property-runs.ts';
import { anyRpcBody } from '../support/rpc-arbitraries.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { TestBed } from '../support/test-bed.ts';

const bed = TestBed.shared();
let agent: NpcDouble;
let routeId: string;
/** For agents of routes, which cannot have wa2ai's own address. */
let forwarder: TcpProxy;

beforeAll(async () => {
  agent = await NpcDouble.start({ apiKey: 'npc-key-1' });
  const route = await bed.service.addRoute('5491100000000', agent.url, {
    config: { adk: undefined, npc: { apiKey: 'npc-key-1', waitMs: 60_000 } },
  });
  routeId = route.id;
  forwarder = await TcpProxy.to(bed.service.url);
  const settings = { enabled: true, name: 'Guard', routeId };
  expect((await bed.service.api('PUT', '/api/settings/npc', settings)).status).toBe(200);
});

afterAll(async () => {
  await bed.service.api('PUT', '/api/settings/npc', { enabled: true, name: 'wa2ai' });
  await agent.stop();
  await forwarder.close();
});

/** Calls with the rights of this machine. */
const caller = () => new NpcCaller(bed.service.url);

describe('another agent that calls wa2ai as an NPC', () => {
  it('reads the card, opens tasks, and gets their events', async () => {
    const { body } = await bed.service.api('GET', '/.well-known/agent-card');
    expect(body).toMatchObject({ name: 'Guard', capabilities: ['social', 'trade', 'emotion', 'memory'] });
    const performed = async (type: string, params: Record<string, unknown>) =>
      await caller().ended(await caller().open(type, params));
    expect(await performed('emotion', { trigger: 'gift', intensity: 80 })).toMatchObject({
      event: 'task.completed',
      data: { result: { mood: 'gift' } },
    });
    await performed('memory', { memoryType: 'event', content: { text: 'we met at the gate' } });
    const { data } = await performed('social', { action: 'greet', message: 'the gate?' });
    expect(data.result).toMatchObject({ message: expect.stringContaining('the gate?') });
    const heard = String(agent.opened('social').at(-1)?.params.message);
    expect(heard).toContain('You feel: gift 80 of 100.');
    expect(heard).toContain('You remember (event): we met at the gate');
    expect(await caller().result('task.list', { limit: 2 })).toMatchObject({
      totalTasks: 3,
      tasks: [{}, {}],
    });
  });

  it('is the agent of a person whose route names it and a key, and trades with the operator', async () => {
    const ben = bed.person();
    const limits = { perMinute: 1_000, perSecond: 1_000 };
    const made = await bed.service.api('POST', '/api/keys', { name: 'ben', scopes: ['tasks'], limits });
    const { key } = made.body.data as { key: string };
    const config = { adk: undefined, npc: { apiKey: key } };
    await bed.service.addRoute(ben.phone, forwarder.through(bed.service.url), { config, priority: 10 });
    const answerTo = async (text: string) => {
      await ben.say(text, { to: bed.phone });
      return (await ben.nextReply()).text;
    };
    expect(await answerTo('Who goes there?')).toContain('Who goes there?');
    expect(await answerTo('/emotion rain 60')).toContain('rain');
    expect(await answerTo('/trade sword 2 1000000000000000001')).toContain('2000000000000000002');
    expect(await answerTo('/trade sword many 5')).toContain('quantity must be a whole number');
    const { body } = await bed.service.api('GET', '/api/npc/trades');
    const [offer] = body.data as Array<Record<string, unknown>>;
    expect(offer).toMatchObject({
      item: 'sword',
      maker: 'peer',
      total: '2000000000000000002',
      state: 'open',
    });
    const accepted = await bed.service.api('POST', `/api/npc/trades/${offer?.offerId}/accept`);
    expect(accepted.body.data).toMatchObject({ state: 'accepted', endedBy: 'npc' });
    const withKey = new NpcCaller(bed.service.url, key);
    const { data } = await withKey.ended(await withKey.open('trade', { action: 'list' }));
    expect(data.result).toMatchObject({ offers: [{ offerId: offer?.offerId, state: 'accepted' }] });
  });

  it('answers whatever a caller sends, and reports no defect', async () => {
    const post = async (text: string) => {
      const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: text };
      const response = await fetch(`${bed.service.url}/rpc`, body);
      const answer = response.status === 204 ? [] : await response.json();
      return [answer].flat() as Array<{
        jsonrpc: string;
        error?: { code: number };
        result?: { taskId?: string };
      }>;
    };
    const opened: string[] = [];
    const before = bed.service.lines.length;
    await fc.assert(
      fc.asyncProperty(anyRpcBody, async (text) => {
        for (const { jsonrpc, error, result } of await post(text)) {
          if (result?.taskId !== undefined) opened.push(result.taskId);
          expect(jsonrpc).toBe('2.0');
          expect(error?.code).not.toBe(-32603);
        }
      }),
      runs(100),
    );
    for (const taskId of opened) {
      const { error } = (await caller().ended(taskId)).data as { error?: { code: number } };
      expect(error?.code).not.toBe(-32603);
    }
    expect(bed.service.lines.slice(before).filter((line) => line.level === 'error')).toEqual([]);
  });

  it('has its answer said once on WhatsApp, also when wa2ai is killed while the agent works', async () => {
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    agent.options = { ...agent.options, onOpen: () => undefined };
    const before = agent.opened('social').length;
    const params = { action: 'greet', message: 'Say hi', to: ana.phone };
    const taskId = await caller().open('social', params);
    await expect.poll(() => agent.openStreams).toBeGreaterThan(0);
    await bed.service.end('SIGKILL');
    await expect.poll(() => agent.openStreams).toBe(0);
    await bed.restartService();
    await expect.poll(() => agent.openStreams, { timeout: 60_000 }).toBeGreaterThan(0);
    agent.complete(agent.opened('social').at(-1)?.taskId ?? '', { message: 'Hi from the guard' });
    expect((await ana.nextReply(60_000)).text).toBe('Hi from the guard');
    expect((await caller().ended(taskId)).event).toBe('task.completed');
    expect(agent.opened('social')).toHaveLength(before + 1);
    await ana.say('thanks', { to: bed.phone });
    await ana.nextReply();
    expect(ana.received.filter(({ text }) => text === 'Hi from the guard')).toHaveLength(1);
  });
});
