import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EventClient } from '../support/event-client.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import type { TestBed } from '../support/test-bed.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';

let bed: TestBed;
let nodes: Nodes;
/** The node that runs the account, and another one. */
let owner: Wa2aiProcess;
let other: Wa2aiProcess;
const clients: EventClient[] = [];

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(['n1', 'n2']));
  await nodes.pair(bed.phone);
  const all = [nodes.node('n1'), nodes.node('n2')] as const;
  const { body } = await all[0].api('GET', '/api/accounts/default');
  const isFirst = (body.data as { node: string }).node === 'n1';
  [owner, other] = isFirst ? all : [all[1], all[0]];
  await owner.addRoute('*', bed.agent.url);
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

async function open(node: Wa2aiProcess, query = '', headers: Record<string, string> = {}) {
  const client = await EventClient.open(node.url, query, headers);
  clients.push(client);
  return client;
}

async function createKey(given: object): Promise<{ id: string; key: string }> {
  const { body } = await owner.api('POST', '/api/keys', { name: 'events', ...given });
  return body.data as { id: string; key: string };
}

describe('live events of two nodes', () => {
  it('show a message, its turn, its reply and the delivery on each node, without any text', async () => {
    const streams = await Promise.all([open(owner), open(other)]);
    for (const stream of streams) await stream.nextOf('ready');
    const person = bed.person();
    await person.say('a secret of mine', { to: bed.phone });
    for (const stream of streams) {
      const { data: message } = await stream.nextOf('message');
      const { chatId, accountId, id } = message;
      const { data: turn } = await stream.nextOf('turn');
      const { data: reply } = await stream.nextOf('reply');
      expect([turn.id, turn.chatId, turn.accountId, turn.state]).toEqual([id, chatId, accountId, 'answered']);
      expect([reply.messageId, reply.chatId, reply.accountId]).toEqual([id, chatId, accountId]);
      const isAcked = ({ state }: Record<string, unknown>) =>
        ['acked', 'delivered', 'read'].includes(`${state}`);
      const { data: delivery } = await stream.nextOf('delivery', isAcked);
      expect([delivery.id, delivery.chatId, delivery.accountId]).toEqual([reply.id, chatId, accountId]);
      expect(JSON.stringify([message, turn, reply])).not.toContain('secret of mine');
      const { body } = await owner.api('GET', `/api/messages/${id}`);
      expect(body.data).toMatchObject({ chatId, text: 'a secret of mine' });
    }
  });

  it('show changes of chats and routes that the other node made', async () => {
    const stream = await open(other, '?types=chat,route,message');
    await stream.nextOf('ready');
    await bed.person().say('hello', { to: bed.phone });
    const { chatId = '' } = (await stream.nextOf('message')).data;
    for (const [path, change] of [
      ['pause', 'paused'],
      ['resume', 'resumed'],
    ]) {
      await owner.api('POST', `/api/chats/${chatId}/${path}`, {});
      expect((await stream.nextOf('chat')).data).toMatchObject({ chatId, change });
    }
    await owner.addRoute('5491100000077', bed.agent.url);
    await stream.nextOf('route');
  });

  it('continue after a connection that broke, and begin again when the id is of another node', async () => {
    const first = await open(other, '?types=message');
    await first.nextOf('ready');
    await bed.person().say('one', { to: bed.phone });
    const { id: lastId = '', data: one } = await first.nextOf('message');
    first.close();
    const people = [bed.person(), bed.person()];
    for (const person of people) {
      await person.say('two', { to: bed.phone });
      await person.waitForReceived(1);
    }
    const again = await open(other, '?types=message', { 'last-event-id': lastId });
    expect((await again.next())?.event).toBe('ready');
    const missed = [await again.nextOf('message'), await again.nextOf('message')];
    expect(missed.map(({ data }) => Number(data.id) > Number(one.id))).toEqual([true, true]);
    expect(new Set([one.chatId, ...missed.map(({ data }) => data.chatId)]).size).toBe(3);
    const elsewhere = await open(owner, '', { 'last-event-id': lastId });
    expect((await elsewhere.next())?.event).toBe('reset');
  });

  it('reach a key only as far as its chats and scopes allow, and end when it is revoked', async () => {
    const [friend, stranger] = [bed.person(), bed.person()];
    const { id, key } = await createKey({ scopes: ['messages:read'], chats: [friend.phone] });
    const limited = await open(other, '?types=message,account,route', { 'x-api-key': key });
    await limited.nextOf('ready');
    const all = await open(other, '?types=message');
    await all.nextOf('ready');
    await stranger.say('hello', { to: bed.phone });
    const { data: hidden } = await all.nextOf('message');
    await friend.say('hello', { to: bed.phone });
    const { data: shown } = await limited.nextOf('message');
    expect(shown.chatId).not.toBe(hidden.chatId);
    expect((await all.nextOf('message')).data.id).toBe(shown.id);
    await owner.api('DELETE', `/api/keys/${id}`);
    expect(await limited.next()).toBeUndefined();
  });

  it('reach other clients while one reads nothing', async () => {
    const { hostname, port } = new URL(other.url);
    const silent = connect(Number(port), hostname);
    silent.pause();
    silent.write(`GET /api/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    const reading = await open(other, '?types=agent,route,message');
    await reading.nextOf('ready');
    const person = bed.person();
    for (let round = 0; round < 5; round++) {
      await person.say(`hello ${round}`, { to: bed.phone });
      await reading.nextOf('message');
    }
    silent.destroy();
    expect((await open(other)).response.status).toBe(200);
  });
});
