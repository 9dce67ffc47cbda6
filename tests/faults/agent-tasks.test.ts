import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { a2aClient, a2aRequest, seen, statesOf } from '../support/a2a-client.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import type { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const NAMES = ['n1', 'n2'];
/** A node searches for the tasks of dead nodes once a minute. */
const TAKE_OVER_MS = 200_000;

let bed: TestBed;
let nodes: Nodes;
let agent: A2aDouble;

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(NAMES, { env: { WA2AI_LEASE_TTL: '4s' } }));
  await nodes.pair(bed.phone);
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

beforeEach(async () => {
  agent = await A2aDouble.start();
});
afterEach(() => agent.stop());

/** Kills a node; `work` must be done by the other one. Then the killed one starts again. */
async function without<T>(name: string, work: () => Promise<T>): Promise<T> {
  await nodes.end(name, 'SIGKILL');
  try {
    return await work();
  } finally {
    await nodes.add(name);
  }
}

/** The node that has ended a turn since `before`: it follows the task of that turn. */
function followerSince(before: Record<string, number>): string {
  const [name] =
    Object.entries(nodes.turnsEnded()).find(([each, count]) => count > (before[each] ?? 0)) ?? [];
  if (name === undefined) throw new Error('no node has ended a turn');
  return name;
}

describe('a person whose agent works for long', () => {
  it.each(['alone', 'in a group'])('%s gets the result once from another node', async (where) => {
    const [dan, eva] = [bed.person({ name: 'Dan' }), bed.person({ name: 'Eva' })];
    const group = createGroup(bed.emulator, { subject: 'Work', members: [dan, eva, bed.phone] });
    const isGroup = where === 'in a group';
    const to = isGroup ? group : bed.phone;
    // In the group another member reads.
    const reader = isGroup ? eva : dan;
    const config = { adk: undefined, a2a: { waitMs: 100 } };
    await nodes.any().addRoute(isGroup ? group.jid : dan.phone, agent.url, { config });
    const before = nodes.turnsEnded();
    await dan.say('run', { to });
    expect((await reader.nextReply(60_000)).text).toMatch(/^Tarea [0-9a-f]{8} iniciada\. Te aviso aquí\.$/);
    const [taskId = ''] = agent.running;
    await expect.poll(() => followerSince(before)).toMatch(/^n\d$/);
    await without(followerSince(before), async () => {
      agent.end(taskId, 'All done');
      expect(await reader.nextReply(TAKE_OVER_MS)).toMatchObject({ text: 'All done' });
      await dan.say('thanks', { to });
      expect((await reader.nextReply(60_000)).text).toBe('echo: thanks');
    });
    await nodes.untilOpen();
    await dan.say('and now?', { to });
    expect((await reader.nextReply(60_000)).text).toBe('echo: and now?');
    expect(reader.received.filter(({ text }) => text === 'All done')).toHaveLength(1);
    expect(agent.messages).toHaveLength(3);
  });
});

describe('a person who is asked for a program', () => {
  it('is asked once although the node of the task dies, and the answer reaches a stream of the other node', async () => {
    const ana = bed.person();
    const owner = await nodes.untilOwned();
    const other = NAMES.find((name) => name !== owner) ?? '';
    const opener = await a2aClient(nodes.node(owner).url);
    const data = { skill: 'ask-person', to: ana.phone, text: 'Which colour?' };
    const { id } = seen(await opener.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    await ana.nextReply(60_000);
    const reader = await a2aClient(nodes.node(other).url);
    const states = statesOf(reader.resubscribeTask({ tenant: '', id }));
    await without(owner, async () => {
      await nodes.untilOwned('default', [owner]);
      await nodes.untilOpen();
      await ana.say('Blue', { to: bed.phone });
      expect((await ana.nextReply(TAKE_OVER_MS)).text).toBe('Gracias, tu respuesta se ha transmitido.');
      expect((await states).slice(-2)).toEqual(['artifact answer', 'completed']);
    });
    expect(ana.received.filter(({ text }) => text?.startsWith('Which colour?'))).toHaveLength(1);
  });
});
