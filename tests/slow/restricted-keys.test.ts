import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESTRICTIONS, type Restriction } from '../../router/src/core/access/caller.ts';
import { SCOPES } from '../../router/src/core/access/scopes.ts';
import { UNRESTRICTABLE } from '../../router/src/features/access/keys-api.ts';
import { a2aClient, a2aRequest, seen } from '../support/a2a-client.ts';
import { EventClient } from '../support/event-client.ts';
import { mcpOverHttp } from '../support/mcp-client.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { NpcCaller } from '../support/npc-caller.ts';
import { WITHOUT_NOTICES } from '../support/shaping.ts';
import { newNumber, type TestBed, withoutContactLimit } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

/** One of two neighbours: an account, a person who wrote to it, and what is stored of both. */
interface Neighbour {
  name: 'alpha' | 'bravo';
  accountId: string;
  phone: Phone;
  person: Person;
  routeId: string;
  chatId: string;
  messageId: string;
  deadLetterId: string;
}

let bed: TestBed;
let nodes: Nodes;
let service: Wa2aiProcess;
let alpha: Neighbour;
let bravo: Neighbour;
/** Tasks of the admin that concern bravo: of A2A and of NPC. */
let tasks: { a2a: string; npc: string };

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(['n1']));
  service = nodes.node('n1');
  await nodes.pair(bed.phone);
  const phone = createPhone(bed.emulator, { phone: newNumber('349'), name: 'bravo business' });
  expect((await service.api('POST', '/api/accounts', { id: 'bravo-account' })).status).toBe(201);
  await nodes.pair(phone, 'bravo-account');
  await ok('PUT', '/api/settings/conversation', { notices: WITHOUT_NOTICES });
  await withoutContactLimit(service);
  alpha = await neighbour('alpha', 'default', bed.phone);
  bravo = await neighbour('bravo', 'bravo-account', phone);
  const client = await a2aClient(service.url);
  const data = {
    skill: 'ask-person',
    accountId: 'bravo-account',
    to: bravo.person.phone,
    text: 'bravo question',
  };
  const asked = await client.sendMessage(a2aRequest({ data }, { returnImmediately: true }));
  await bravo.person.nextReply();
  const content = 'bravo memory';
  const npc = await new NpcCaller(service.url).open('memory', {
    memoryType: 'event',
    content: { text: content },
  });
  tasks = { a2a: seen(asked).id, npc };
}, 180_000);

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

async function ok<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await service.api(method, path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.data as T;
}

/** A person writes twice to the account: one message is answered, one is a dead letter. */
async function neighbour(name: Neighbour['name'], accountId: string, phone: Phone): Promise<Neighbour> {
  const person = bed.person({ name: `${name} person` });
  const failing = await bed.anotherAgent(['--fail', '400']);
  const given = { accountId, name: `${name}-route` };
  const { id: routeId } = await service.addRoute(person.phone, bed.agent.url, given);
  await service.addRoute(person.phone, failing.url, { ...given, regexFilter: 'break', priority: 1 });
  await person.say(`${name} words`, { to: phone });
  await person.nextReply();
  await person.say(`${name} words break`, { to: phone });
  const letter = await until(`the dead letter of ${name}`, async () => {
    const path = `/api/dead-letters?accountId=${accountId}`;
    return (await ok<Array<{ id: string; messageId: string; chatId: string }>>('GET', path))[0];
  });
  const { id: deadLetterId, messageId, chatId } = letter;
  return { name, accountId, phone, person, routeId, chatId, messageId, deadLetterId };
}

const ALLOWED: Record<Restriction, () => object> = {
  chats: () => ({ chats: [alpha.person.phone] }),
  routes: () => ({ routes: [alpha.routeId] }),
  accounts: () => ({ accounts: [alpha.accountId] }),
};

/** What must not be shown of bravo. A key for some routes reads the messages of every chat, without their routes. */
const HIDDEN: Record<Restriction, () => string[]> = {
  chats: () => [
    'bravo words',
    'bravo question',
    'bravo person',
    'bravo-route',
    bravo.routeId,
    bravo.person.phone,
  ],
  routes: () => ['bravo-route', bravo.routeId],
  // The key may write to bravo's person from its own account.
  accounts: () => ['bravo', bravo.routeId, bravo.phone.pn],
};

async function keyFor(restriction: Restriction): Promise<string> {
  const scopes = SCOPES.filter((scope) => !UNRESTRICTABLE.includes(scope));
  const given = { name: restriction, scopes, ...ALLOWED[restriction](), limits: LIMITS };
  return (await ok<{ key: string }>('POST', '/api/keys', given)).key;
}

const LIMITS = { perMinute: 100_000, perSecond: 10_000 };

/** The words of bravo in a text; what the caller sent itself is repeated in some errors. */
function leaked(restriction: Restriction, text: string, sent: unknown): string[] {
  const given = JSON.stringify(sent);
  return HIDDEN[restriction]().filter((word) => text.includes(word) && !given.includes(word));
}

/** What is stored of bravo, and how much it was sent: what a restricted key must not change. */
async function stateOfBravo(restriction: Restriction): Promise<string> {
  // A key for some routes may write to every chat.
  const paths =
    restriction === 'routes' ? [] : [`chats/${bravo.chatId}`, 'dead-letters?accountId=bravo-account'];
  const all = ['routes', 'settings/conversation', 'webhooks', 'agents', 'keys?limit=1', ...paths];
  const shown = await Promise.all(all.map((path) => service.api('GET', `/api/${path}`)));
  return JSON.stringify(shown);
}

/** What a caller who knows everything of bravo would write into each argument of a tool. */
const ARGUMENTS = (): Record<string, unknown[]> => ({
  account_id: [bravo.accountId],
  agent_id: ['bravo-agent'],
  agent_endpoint: [bed.agent.url],
  chat: [bravo.chatId, `+${bravo.person.phone}`, bravo.person.pn, bravo.person.lid],
  channel: [bravo.person.phone, bravo.person.lid],
  dead_letter_id: [bravo.deadLetterId],
  from: [bravo.person.phone],
  handle: [tasks.a2a],
  message: ['hello'],
  message_id: [bravo.messageId],
  route_id: [bravo.routeId],
  text: ['words'],
  to: [bravo.person.phone],
  wait_seconds: [0],
});

interface InputSchema {
  properties?: Record<string, unknown>;
  required?: string[];
}

/** Calls of a tool: with what it needs, and with each further argument that could name bravo. */
function callsOf(schema: InputSchema): Array<Record<string, unknown>> {
  const values = ARGUMENTS();
  const named = Object.keys(schema.properties ?? {}).filter((name) => values[name]);
  const missing = (schema.required ?? []).filter((name) => !values[name]);
  if (missing.length > 0) throw new Error(`ARGUMENTS has no value of ${missing.join(', ')}`);
  const needed = (schema.required ?? []).map((name) => [name, values[name]?.[0]] as const);
  const base = {
    ...Object.fromEntries(needed),
    ...('wait_seconds' in (schema.properties ?? {}) && { wait_seconds: 0 }),
  };
  const more = named.flatMap((name) => (values[name] ?? []).map((value) => ({ ...base, [name]: value })));
  return [base, ...more, Object.fromEntries(named.map((name) => [name, values[name]?.[0]]))];
}

/** The text of a result or of its refusal. */
async function textOf(calling: Promise<unknown>): Promise<string> {
  return JSON.stringify(await calling.catch((error: Error) => error.message));
}

/** Every resource, on all pages, and those of bravo by their addresses. */
async function readAll(client: Client): Promise<string> {
  let text = '';
  const uris = [`wa2ai://chats/${bravo.chatId}/messages`, 'wa2ai://routes'];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await client.listResources(cursor === undefined ? {} : { cursor });
    text += JSON.stringify(page);
    uris.push(...page.resources.map(({ uri }) => uri));
    cursor = page.nextCursor;
  }
  for (const uri of uris) text += await textOf(client.readResource({ uri }));
  return text;
}

describe.each(RESTRICTIONS)('a key restricted to some %s, on PostgreSQL', (restriction) => {
  it('reads nothing of the others by any list, filter or id of the REST API', async () => {
    const headers = { 'x-api-key': await keyFor(restriction) };
    const response = await fetch(`${service.url}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, { get?: object }> };
    const ids = [
      bravo.chatId,
      bravo.messageId,
      bravo.deadLetterId,
      bravo.routeId,
      bravo.accountId,
      bravo.person.phone,
    ];
    const filters = [
      '',
      '?accountId=bravo-account',
      `?channelId=${bravo.person.phone}`,
      '?direction=all',
      '?text=words',
    ];
    const targets = Object.keys(paths)
      .filter((path) => path.startsWith('/api/') && paths[path]?.get)
      .flatMap((path) =>
        path.includes('{')
          ? ids.map((id) => path.replaceAll(/\{\w+\}/g, encodeURIComponent(id)))
          : filters.map((filter) => path + filter),
      );
    expect(targets.length).toBeGreaterThan(300);
    const shown: string[] = [];
    const read = async (target: string) => {
      const gone = new AbortController();
      const answer = await fetch(service.url + target, { headers, signal: gone.signal });
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
      const text = isStream ? '' : await answer.text();
      gone.abort();
      const words = leaked(restriction, text, target);
      if (words.length > 0) shown.push(`${target}: ${words.join(', ')}`);
    };
    for (let at = 0; at < targets.length; at += 8) await Promise.all(targets.slice(at, at + 8).map(read));
    expect(shown).toEqual([]);
    const own = await service.api('GET', '/api/messages?direction=all', undefined, headers);
    expect(JSON.stringify(own.body)).toContain('alpha words');
    const letters = await service.api('GET', '/api/dead-letters', undefined, headers);
    expect(JSON.stringify(letters.body)).toContain('alpha words break');
  });

  it('reads and changes nothing of the others by any tool, resource or prompt of MCP', async () => {
    const client = await mcpOverHttp(service.url, { headers: { 'x-api-key': await keyFor(restriction) } });
    const before = await stateOfBravo(restriction);
    const { tools } = await client.listTools();
    // What every key may do is refused only for what it names.
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['list_chats', 'send_whatsapp_message']),
    );
    const shown: string[] = [];
    for (const { name, inputSchema } of tools) {
      for (const given of callsOf(inputSchema as InputSchema)) {
        const words = leaked(restriction, await textOf(client.callTool({ name, arguments: given })), given);
        if (words.length > 0) shown.push(`${name} ${JSON.stringify(given)}: ${words.join(', ')}`);
      }
    }
    const sent = bravo.chatId;
    shown.push(...leaked(restriction, await readAll(client), sent));
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) {
      const given: Record<string, string> = name === 'explain_dead_letter' ? { id: bravo.deadLetterId } : {};
      shown.push(...leaked(restriction, await textOf(client.getPrompt({ name, arguments: given })), given));
    }
    expect(shown).toEqual([]);
    expect(await stateOfBravo(restriction)).toBe(before);
    expect(JSON.stringify(await client.callTool({ name: 'list_chats', arguments: {} }))).toContain(
      alpha.person.phone,
    );
  });

  it('reaches no task of the others by A2A and NPC', async () => {
    const key = await keyFor(restriction);
    const client = await a2aClient(service.url, { key });
    await expect(client.getTask({ tenant: '', id: tasks.a2a })).rejects.toThrow();
    await expect(client.cancelTask({ tenant: '', id: tasks.a2a, metadata: undefined })).rejects.toThrow();
    const listed = await client.listTasks({ tenant: '' } as Parameters<typeof client.listTasks>[0]);
    expect(listed.tasks).toEqual([]);
    if (restriction !== 'routes') {
      const data = {
        skill: 'message-person',
        accountId: bravo.accountId,
        to: bravo.person.phone,
        text: 'stolen',
      };
      const answer = await client.sendMessage(a2aRequest({ data }));
      expect(seen(answer)).toMatchObject({
        state: 'rejected',
        said: expect.stringContaining('The key may not use this'),
      });
    }
    const npc = new NpcCaller(service.url, key);
    expect(await npc.rpc('task.status', { taskId: tasks.npc })).toMatchObject({ error: {} });
    expect(await npc.result('task.list', {})).toMatchObject({ totalTasks: 0, tasks: [] });
    expect(
      (await fetch(`${service.url}/stream/${tasks.npc}`, { headers: { 'x-api-key': key } })).status,
    ).toBe(404);
  });

  it('gets no live event of the others', async () => {
    const events = await EventClient.open(service.url, '', { 'x-api-key': await keyFor(restriction) });
    await events.nextOf('ready');
    await bravo.person.say('answers the question', { to: bravo.phone });
    await service.api('PATCH', `/api/routes/${bravo.routeId}`, { priority: 5 });
    await service.api('POST', `/api/chats/${bravo.chatId}/pause`, {});
    await service.api('POST', `/api/chats/${bravo.chatId}/resume`, {});
    await alpha.person.say('alpha words', { to: alpha.phone });
    await alpha.person.nextReply();
    const got: string[] = [];
    for (;;) {
      const event = await events.next();
      if (!event) throw new Error('the stream has ended');
      got.push(JSON.stringify(event));
      // The end of what was written last
      if (event.data.type === 'delivery' && event.data.chatId === alpha.chatId) break;
    }
    events.close();
    const chat = `"chatId":"${bravo.chatId}"`;
    const ofBravo = restriction === 'routes' ? ['"type":"route"'] : [chat, bravo.accountId, bravo.routeId];
    expect(got.filter((event) => ofBravo.some((word) => event.includes(word)))).toEqual([]);
  });
});
