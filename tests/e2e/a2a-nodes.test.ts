import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { a2aClient, a2aRequest, seen, statesOf } from '../support/a2a-client.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import type { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
let nodes: Nodes;

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(['n1', 'n2']));
  await nodes.pair(bed.phone);
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

const urlOf = (name: string) => nodes.node(name).url;

describe('A2A streams on two nodes', () => {
  it.each([
    ['n1', 'n2'],
    ['n2', 'n1'],
  ])('show on another node than %s, on %s, what happens to a task', async (opening, other) => {
    const opener = await a2aClient(urlOf(opening));
    const reader = await a2aClient(urlOf(other));
    const ana = bed.person();
    const data = { skill: 'ask-person', to: ana.phone, text: 'Which colour?' };
    const { id } = seen(await opener.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    const states = statesOf(reader.resubscribeTask({ tenant: '', id }));
    await ana.nextReply();
    await ana.say('Blue', { to: bed.phone });
    expect((await states).slice(-2)).toEqual(['artifact answer', 'completed']);
    expect(seen(await opener.getTask({ tenant: '', id })).answer).toBe('Blue');
  });

  it('show a cancel by another node', async () => {
    const [one, two] = [await a2aClient(urlOf('n1')), await a2aClient(urlOf('n2'))];
    const bo = bed.person();
    const data = { skill: 'ask-person', to: bo.phone, text: 'Still there?' };
    const { id } = seen(await one.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    const states = statesOf(one.resubscribeTask({ tenant: '', id }));
    await bo.nextReply();
    await two.cancelTask({ tenant: '', id, metadata: undefined });
    expect((await states).at(-1)).toBe('canceled');
  });

  it('end when the key is revoked on the other node', async () => {
    const cid = bed.person();
    const made = await nodes.node('n1').api('POST', '/api/keys', { name: 'k', scopes: ['a2a'] });
    const { id: keyId, key } = made.body.data as { id: string; key: string };
    const client = await a2aClient(urlOf('n2'), { key });
    const data = { skill: 'ask-person', to: cid.phone, text: 'A secret question?' };
    const states = statesOf(client.sendMessageStream(a2aRequest({ data })));
    await cid.nextReply();
    expect((await nodes.node('n1').api('DELETE', `/api/keys/${keyId}`)).status).toBe(200);
    expect((await states).at(-1)).toBe('working');
    await expect(client.sendMessage(a2aRequest({ data }))).rejects.toThrow(/401/);
  });
});
