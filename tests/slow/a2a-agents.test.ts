import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const a2a = (settings: Record<string, unknown> = {}) => ({
  config: { adk: undefined, a2a: { apiKey: 'a2a-key-1', ...settings } },
});

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(() => bed.close());

/** Ends the process as a power failure does, and starts it again. */
async function crash(): Promise<void> {
  await bed.service.end('SIGKILL');
  await bed.restartService();
}

describe.each([
  { version: '1.0', binding: 'JSONRPC' },
  { version: '0.3', binding: 'JSONRPC' },
  { version: '1.0', binding: 'HTTP+JSON' },
] as const)('a person who writes to an agent that speaks A2A $version over $binding', (dialect) => {
  let agent: A2aDouble;
  beforeAll(async () => {
    agent = await A2aDouble.start({ ...dialect, apiKey: 'a2a-key-1' });
  });
  afterAll(() => agent.stop());

  it('gets answers, a question, and a picture, and keeps the conversation over a restart', async () => {
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, agent.url, a2a());
    await ana.say('hello', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('echo: hello');
    await ana.say('ask me', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Which city?');
    await crash();
    await ana.say('Lima', { to: bed.phone });
    expect((await ana.nextReply(60_000)).text).toBe('you said: Lima');
    await ana.say('picture', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Here it is');
    const [first, , third] = agent.messages;
    expect(third?.contextId).toBe(first?.contextId);
  });

  it('gets the result of a long task in its group, once, although wa2ai was killed meanwhile', async () => {
    const [dan, eva] = [bed.person({ name: 'Dan' }), bed.person({ name: 'Eva' })];
    const group = createGroup(bed.emulator, { subject: 'Work', members: [dan, eva, bed.phone] });
    await bed.service.addRoute(group.jid, agent.url, a2a({ waitMs: 100 }));
    const before = agent.messages.length;
    await dan.say('run', { to: group });
    expect((await eva.nextReply()).text).toMatch(/^Tarea [0-9a-f]{8} iniciada\. Te aviso aquí\.$/);
    const [taskId = ''] = agent.running;
    await eva.say('hello', { to: group });
    expect((await eva.nextReply()).text).toBe('echo: hello');
    await crash();
    agent.end(taskId, 'All done');
    expect(await eva.nextReply(60_000)).toMatchObject({ text: 'All done', chat: group.jid });
    await dan.say('thanks', { to: group });
    expect((await eva.nextReply()).text).toBe('echo: thanks');
    expect(eva.received.filter(({ text }) => text === 'All done')).toHaveLength(1);
    expect(agent.messages).toHaveLength(before + 3);
  });

  it('gets nothing of what the agent says about a failure', async () => {
    const bo = bed.person();
    await bed.service.addRoute(bo.phone, agent.url, a2a());
    const id = await bo.say('reject', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_REJECTED' });
    await bo.say('hello', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('echo: hello');
  });
});

describe('an agent without streams that sends push notifications', () => {
  it('gets an address for a long task, and its notification brings the end to the chat', async () => {
    const answered: number[] = [];
    const proxy = await StandInServer.start(async ({ path, body }) => {
      const { status } = await fetch(`${bed.service.url}${path}`, { method: 'POST', body });
      answered.push(status);
      return { status };
    });
    const card = { capabilities: { streaming: false, pushNotifications: true, extensions: [] } };
    const agent = await A2aDouble.start({ binding: 'HTTP+JSON', streaming: false, card });
    await bed.service.end();
    await bed.restartService({ WA2AI_PUBLIC_URL: proxy.url });
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, agent.url, { config: { adk: undefined, a2a: { waitMs: 100 } } });
    await ana.say('run', { to: bed.phone });
    expect((await ana.nextReply()).text).toMatch(/Te aviso aquí/);
    const isRegistered = () => agent.requests.some(({ path }) => path.endsWith('/pushNotificationConfigs'));
    await expect.poll(isRegistered, { timeout: 30_000 }).toBe(true);
    const [taskId = ''] = agent.running;
    agent.end(taskId, 'All done');
    expect((await ana.nextReply(60_000)).text).toBe('All done');
    await expect.poll(() => answered.includes(204), { timeout: 30_000 }).toBe(true);
    expect(proxy.requests[0]?.path).toMatch(/^\/task-pushes\/[\w-]{43}$/);
    expect(bed.service.output).not.toContain(proxy.requests[0]?.path.split('/').at(-1));
    await agent.stop();
    await proxy.close();
  });
});
