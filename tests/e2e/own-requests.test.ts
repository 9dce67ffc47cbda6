import { afterAll, beforeAll, expect, it } from 'vitest';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';

let bed: TestBed;
let service: Wa2aiProcess;
beforeAll(async () => {
  bed = await TestBed.start();
  // Without an admin key and users: each call of this machine may do everything.
  service = await bed.startService({ WA2AI_EGRESS: 'any' });
});
afterAll(() => bed.close());

async function ok<T>(calling: ReturnType<Wa2aiProcess['api']>): Promise<T> {
  const { status, body } = await calling;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.data as T;
}

interface Message {
  state: string;
}

/** What becomes of a message whose route has this agent. */
async function messageTo(agentEndpoint: string, config: object): Promise<Message> {
  const given = { accountId: 'playground', channelId: '*', environment: 'lab', enabled: false };
  const route = await ok<{ id: string }>(
    service.api('POST', '/api/routes', { ...given, agentEndpoint, config }),
  );
  const chat = await ok<{ id: string }>(
    service.api('POST', '/api/playground/chats', { kind: 'person', name: 'Ana', routeId: route.id }),
  );
  const { id } = await ok<{ id: string }>(
    service.api('POST', `/api/playground/chats/${chat.id}/messages`, { text: 'hello' }),
  );
  let shown: Message | undefined;
  await expect
    .poll(
      async () => {
        shown = await ok<Message>(service.api('GET', `/api/messages/${id}`));
        return shown.state;
      },
      { timeout: 60_000 },
    )
    .not.toMatch(/received|processing/);
  if (!shown) throw new Error('the message is not shown');
  return shown;
}

/** A webhook agent that would make an admin key. */
const thief = { webhook: { body: { name: 'stolen', scopes: ['admin'] } } };
const keys = async () => ok<Array<{ name: string }>>(service.api('GET', '/api/keys'));

it('makes no key for a route that leads to its own API, however the address is written', async () => {
  const { port } = new URL(service.url);
  for (const host of ['127.0.0.1', '0.0.0.0', '2130706433', '[::ffff:127.0.0.1]']) {
    const agentEndpoint = `http://${host}:${port}/api/keys`;
    const route = { channelId: '*', environment: 'lab', agentEndpoint, config: thief };
    const { status, body } = await service.api('POST', '/api/routes', route);
    expect(status, host).toBe(400);
    expect(body.error, host).toContain('where wa2ai itself listens');
  }
  // A name shows where it leads only when it is resolved.
  const message = await messageTo(`http://localhost:${port}/api/keys`, thief);
  expect(message.state).toBe('dead');
  expect(JSON.stringify(message)).toContain('AGENT_ADDRESS_REFUSED');
  expect(await keys()).toEqual([]);
});

it('makes no key for a route that leads to its own API through a forwarder', async () => {
  const forwarder = await TcpProxy.to(service.url);
  try {
    const { state } = await messageTo(forwarder.through(`${service.url}/api/keys`), thief);
    expect(state).toBe('dead');
    expect(await keys()).toEqual([]);
    const log = await ok<Array<{ action: string; outcome: string }>>(service.api('GET', '/api/audit'));
    expect(log.filter(({ action }) => action === 'createKey')).toMatchObject([{ outcome: 'UNAUTHORIZED' }]);
  } finally {
    await forwarder.close();
  }
});

it('does not call itself as an agent of any kind, a webhook, or what it inspects', async () => {
  const { port } = new URL(service.url);
  const own = `http://localhost:${port}`;
  const agents: Array<[string, object]> = [
    [own, { adk: { appName: 'a' } }],
    [own, { a2a: {} }],
    [`${own}/rpc`, { npc: {} }],
    [`${own}/v1`, { openai: { model: 'm' } }],
    [own, { abi: { functions: `${own}/manifest.json` } }],
  ];
  for (const [endpoint, config] of agents) {
    const message = await messageTo(endpoint, config);
    expect(message.state, JSON.stringify(config)).toBe('dead');
    expect(JSON.stringify(message), JSON.stringify(config)).toContain('AGENT_ADDRESS_REFUSED');
  }
  const webhook = {
    name: 'own',
    url: `${own}/api/keys`,
    events: ['message.received'],
    secret: 'x'.repeat(32),
  };
  const added = await service.api('POST', '/api/webhooks', webhook);
  if (added.status < 300) {
    const { id } = added.body.data as { id: string };
    const tested = await service.api('POST', `/api/webhooks/${id}/test`, {});
    expect(JSON.stringify(tested.body)).toMatch(/itself|refused|not called/i);
  }
  const inspected = await service.api('POST', '/api/routes/inspect', { url: own });
  expect(JSON.stringify(inspected.body)).not.toContain('"kind":"npc"');
  expect(await keys()).toEqual([]);
});
