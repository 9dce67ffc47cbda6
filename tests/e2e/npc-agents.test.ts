import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const opponent = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';
const npc = (settings: Record<string, unknown> = {}) => ({
  config: { adk: undefined, npc: { apiKey: 'npc-key-1', ...settings } },
});

const bed = TestBed.shared();
let agent: NpcDouble;

beforeAll(async () => {
  agent = await NpcDouble.start({ apiKey: 'npc-key-1' });
});

afterAll(async () => {
  await agent.stop();
});

describe('a person who writes to an agent of the NPC Engine', () => {
  it('gets answers to text, commands and mistakes', async () => {
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, agent.url, npc());
    await ana.say('Hi!', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('echo: Hi!');
    await ana.say('/social greet Good morning', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('echo: Good morning');
    await ana.say('/duel bob 1', { to: bed.phone });
    expect((await ana.nextReply()).text).toMatch(/^opponent must be an Ethereum address/);
    await ana.say('/help', { to: bed.phone });
    expect((await ana.nextReply()).text).toContain('/duel OPPONENT WAGER [TOKEN]');
    expect(agent.opened('duel')).toEqual([]);
  });

  it('gets the line of a long task, goes on talking, and gets the result', async () => {
    const bo = bed.person();
    await bed.service.addRoute(bo.phone, agent.url, npc({ waitMs: 200 }));
    await bo.say(`/duel ${opponent} 5`, { to: bed.phone });
    expect((await bo.nextReply()).text).toMatch(/^Tarea task_\d+ iniciada\. Te aviso aquí\.$/);
    const [task] = agent.opened('duel');
    if (!task) throw new Error('no duel was opened');
    await bo.say('Still there?', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('echo: Still there?');
    await bo.say('/tasks', { to: bed.phone });
    expect((await bo.nextReply()).text).toMatch(
      new RegExp(`^• social \\S+: completed.*\n• duel ${task.taskId}: pending, since .* UTC$`),
    );
    agent.complete(task.taskId, { message: 'You won!' });
    expect((await bo.nextReply()).text).toBe(`Tarea ${task.taskId}: You won!`);
    await bo.say(`/task ${task.taskId}`, { to: bed.phone });
    expect((await bo.nextReply()).text).toBe(`duel ${task.taskId}: completed\nYou won!`);
  });

  it('gets a line and no text of the agent when a long task fails', async () => {
    const eva = bed.person();
    await bed.service.addRoute(eva.phone, agent.url, npc({ waitMs: 0 }));
    const id = await eva.say('/trade sword 1 10', { to: bed.phone });
    const started = (await eva.nextReply()).text;
    const [task] = agent.opened('trade');
    expect(started).toBe(`Tarea ${task?.taskId} iniciada. Te aviso aquí.`);
    agent.update(task?.taskId ?? '', { status: 'failed', error: { code: -32603, message: 'a secret' } });
    expect((await eva.nextReply()).text).toBe(`La tarea ${task?.taskId} ha fallado.`);
    expect(await bed.message(id)).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_FAILED' });
  });

  it('gets the result in the group where the task was started, and no other chat sees the task', async () => {
    const [dan, fay] = [bed.person({ name: 'Dan' }), bed.person({ name: 'Fay' })];
    const group = createGroup(bed.emulator, { subject: 'Arena', members: [dan, fay, bed.phone] });
    for (const channelId of [group.jid, fay.phone]) {
      await bed.service.addRoute(channelId, agent.url, npc({ waitMs: 0, progress: true }));
    }
    await dan.say('/quest dragon hard 5 60', { to: group });
    expect((await fay.nextReply()).text).toMatch(/^Tarea task_\d+ iniciada/);
    const [task] = agent.opened('quest');
    if (!task) throw new Error('no quest was opened');
    await fay.say('/tasks', { to: bed.phone });
    expect(await fay.nextReply()).toMatchObject({ text: 'Este chat no tiene tareas.', chat: bed.phone.pn });
    agent.update(task.taskId, { status: 'processing', progress: 60 });
    expect((await fay.nextReply()).text).toBe(`Tarea ${task.taskId}: 50 %.`);
    agent.complete(task.taskId, { success: true, transactionHash: '0xabc' });
    expect(await fay.nextReply()).toMatchObject({
      text: `Tarea ${task.taskId}: success: yes\ntransaction hash: 0xabc`,
      chat: group.jid,
    });
  });
});

describe('wa2ai killed in the middle of a long task', () => {
  it('reports the result once after the next start, continues the task of an interrupted turn, and opens no other one', async () => {
    const [gil, hal] = [bed.person(), bed.person()];
    await bed.service.addRoute(gil.phone, agent.url, npc({ waitMs: 0 }));
    await bed.service.addRoute(hal.phone, agent.url, npc({ waitMs: 60_000 }));
    const before = agent.opened('duel').length;
    await gil.say(`/duel ${opponent} 7`, { to: bed.phone });
    expect((await gil.nextReply()).text).toMatch(/iniciada\. Te aviso aquí\.$/);
    const untilStreams = (count: number) => expect.poll(() => agent.openStreams).toBe(count);
    const crash = async () => {
      await bed.service.end('SIGKILL');
      await untilStreams(0);
      await bed.restartService();
    };
    await untilStreams(1);
    await crash();
    await untilStreams(1);
    // After the first crash: a turn that is interrupted twice waits.
    await hal.say(`/duel ${opponent} 9`, { to: bed.phone });
    await expect.poll(() => agent.opened('duel')).toHaveLength(before + 2);
    await untilStreams(2);
    await crash();
    await untilStreams(2);
    const [followed, awaited] = agent.opened('duel').slice(-2);
    if (!followed || !awaited) throw new Error('no duel was opened');
    agent.complete(awaited.taskId, { message: 'Continued' });
    expect((await hal.nextReply(60_000)).text).toBe('Continued');
    agent.complete(followed.taskId, { message: 'You won after all!' });
    expect((await gil.nextReply(60_000)).text).toBe(`Tarea ${followed.taskId}: You won after all!`);
    await gil.say('Thanks', { to: bed.phone });
    expect((await gil.nextReply()).text).toBe('echo: Thanks');
    expect(gil.received.filter(({ text }) => text?.includes('after all'))).toHaveLength(1);
    expect(agent.opened('duel')).toHaveLength(before + 2);
  });
});
