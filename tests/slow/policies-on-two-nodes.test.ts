import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { type TestBed, withoutContactLimit } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
let nodes: Nodes;

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(['a', 'b']));
  await nodes.pair(bed.phone);
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await nodes.any().api(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return (answer.body as { data: T }).data;
}

interface Chat {
  id: string;
  access?: string;
  pause?: { mode: string; reason?: string };
}

async function chatOf({ phone }: Person): Promise<Chat> {
  const [chat] = await api<Chat[]>('GET', `/api/chats?channelId=${phone}`);
  if (!chat) throw new Error('there is no such chat');
  return chat;
}

/** Why the turn of a message ended without an answer. */
const untilReason = (waMessageId: string) =>
  until(`the end of the turn of ${waMessageId}`, async () => {
    const rows = await api<Array<{ waMessageId: string; state: string; reason?: string }>>(
      'GET',
      '/api/messages?limit=100',
    );
    const row = rows.find((each) => each.waMessageId === waMessageId);
    return row && row.state !== 'received' ? (row.reason ?? row.state) : undefined;
  });

const texts = async (person: Person, count: number) =>
  (await person.waitForReceived(count, 60_000)).map(({ text }) => text);

it('another node continues with what waits, what is paused and what the owner approves', async () => {
  const [stranger, paused, drafted, hasty] = [bed.person(), bed.person(), bed.person(), bed.person()];
  const config = (fields: object) => ({ config: fields });
  const service = nodes.any();
  await withoutContactLimit(service);
  await service.addRoute('*', bed.agent.url, config({ access: { people: 'approved' } }));
  for (const { phone } of [paused, drafted]) await service.addRoute(phone, bed.agent.url, config({}));
  await service.addRoute(hasty.phone, bed.agent.url, config({ pace: { debounceMs: 4_000 } }));

  expect(await untilReason(await stranger.say('first', { to: bed.phone }))).toBe('access-pending');
  for (const person of [paused, drafted]) await person.say('hello', { to: bed.phone });
  for (const person of [paused, drafted]) expect(await texts(person, 1)).toEqual(['Echo: hello']);
  await bed.phone.say('Maria here.', { to: paused });
  await until('the chat is paused', async () => (await chatOf(paused)).pause);
  await api('POST', `/api/chats/${(await chatOf(drafted)).id}/pause`, { mode: 'approve' });
  expect(await untilReason(await drafted.say('may I?', { to: bed.phone }))).toBe('draft');
  const line = await hasty.say('one', { to: bed.phone });
  await until('the line is stored', async () => {
    const rows = await api<Array<{ waMessageId: string }>>('GET', '/api/messages?limit=100');
    return rows.find(({ waMessageId }) => waMessageId === line);
  });

  const owner = await nodes.untilOwned();
  await nodes.end(owner, 'SIGKILL');
  await hasty.say('two', { to: bed.phone });
  await nodes.untilOwned('default', [owner]);

  expect(await chatOf(stranger)).toMatchObject({ access: 'pending' });
  expect(await chatOf(paused)).toMatchObject({ pause: { reason: 'The owner wrote in the chat.' } });
  expect(await chatOf(drafted)).toMatchObject({ pause: { mode: 'approve' } });
  expect(await untilReason(await stranger.say('second', { to: bed.phone }))).toBe('access-pending');
  expect(await untilReason(await paused.say('thanks', { to: bed.phone }))).toBe('chat-paused');
  expect(await untilReason(await drafted.say('and now?', { to: bed.phone }))).toBe('draft');

  await api('POST', `/api/chats/${(await chatOf(stranger)).id}/approve`);
  expect(await texts(stranger, 2)).toEqual(['Echo: first', 'Echo: second']);
  const drafts = await api<Array<{ id: string }>>('GET', `/api/drafts?channelId=${drafted.phone}`);
  expect(drafts).toHaveLength(2);
  for (const { id } of drafts) await api('POST', `/api/drafts/${id}/approve`, {});
  expect(await texts(drafted, 3)).toEqual(['Echo: hello', 'Echo: may I?', 'Echo: and now?']);
  await api('POST', `/api/chats/${(await chatOf(paused)).id}/resume`);
  await paused.say('bye', { to: bed.phone });
  expect((await texts(paused, 2))[1]).toMatch(/Maria here\.\n.*thanks\n\nbye$/s);
  // One question, or two when the second line was delivered too late for that: each is answered once, in order.
  const lines = () => hasty.received.map(({ text }) => text?.replace('Echo: ', '')).join('\n');
  await until('both lines are answered', async () => lines().includes('two') || undefined);
  expect(lines()).toBe('one\ntwo');
});
