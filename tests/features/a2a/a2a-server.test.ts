import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../../router/src/core/ports/audit-log.ts';
import { a2aServer } from '../../../router/src/features/a2a/feature.ts';
import { pushUpdates } from '../../../router/src/features/a2a/push-updates.ts';
import { serveTask } from '../../../router/src/features/tasks/serve-task.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { Access, newKey } from '../../../router/src/infra/operations/access.ts';
import { KeyWatch } from '../../../router/src/infra/operations/key-watch.ts';
import { RepeatedCalls } from '../../../router/src/infra/operations/repeated-calls.ts';
import { createHttpServer } from '../../../router/src/infra/operations/server.ts';
import { MemoryApiKeyStore } from '../../doubles/memory-api-key-store.ts';
import { MemoryConsoleSessions } from '../../doubles/memory-console-sessions.ts';
import { MemoryConsoleUsers } from '../../doubles/memory-console-users.ts';
import { MemoryDurableTasks } from '../../doubles/memory-durable-tasks.ts';
import { MemoryRateLimiter } from '../../doubles/memory-rate-limiter.ts';
import { MemoryRepeatedCalls } from '../../doubles/memory-repeated-calls.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';
import { MemoryTaskHooks } from '../../doubles/memory-task-hooks.ts';
import {
  type A2aBinding,
  type A2aVersion,
  a2aClient,
  a2aRequest,
  seen,
  statesOf,
} from '../../support/a2a-client.ts';
import { serviceWith } from '../../support/app-with.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { aNewRoute } from '../../support/routes.ts';
import { serving } from '../../support/serving.ts';

const PUBLIC_URL = 'https://wa2ai.example/bot';

const ADMIN_KEY = 'the-admin-key-of-these-tests';

async function setup({ host = '127.0.0.1', adminKey = ADMIN_KEY as string | undefined } = {}) {
  const all = serving({
    clock: systemClock,
    agent: async (text) => ({ success: true, response: `you said ${text}` }),
  });
  const hooks = new MemoryTaskHooks(all.servedTasks);
  const pushed: string[] = [];
  const tasks = new MemoryDurableTasks({
    'serve-task': (steps, input) => serveTask(all.service, steps, input),
    'push-updates': (steps, input) =>
      pushUpdates(
        {
          hooks,
          mayReceive: async () => true,
          feed: all.feed,
          clock: systemClock,
          random: Math.random,
          log: quietLog,
          send: async ({ version, token }, _task, { state }) =>
            void pushed.push(`${version} ${token} ${state}`),
        },
        steps,
        input,
      ),
  });
  const keys = new MemoryApiKeyStore();
  const events: AuditEvent[] = [];
  const recorder = {
    recordChange: async (event: AuditEvent) => void events.push(event),
    recordRead: (event: AuditEvent) => void events.push(event),
  };
  const settingsStore = new MemorySettings();
  const stopping = new AbortController();
  const users = new MemoryConsoleUsers();
  const sessions = new MemoryConsoleSessions(users);
  const presence = { hasUsers: false };
  const access = new Access({ adminKey, keys, sessions, presence, clock: systemClock, log: quietLog });
  const keyWatch = new KeyWatch({ keys, sessions, clock: systemClock, log: quietLog });
  const server = await createHttpServer({
    config: { host: '127.0.0.1', port: 0, apiKey: adminKey },
    access,
    limiter: new MemoryRateLimiter(),
    recorder,
    repeated: new RepeatedCalls(new MemoryRepeatedCalls()),
    endpoints: [],
    tags: {},
    log: quietLog,
    servers: a2aServer(
      serviceWith({
        settingsStore,
        config: { host, publicUrl: PUBLIC_URL, apiKey: adminKey, environment: 'lab', accountId: 'default' },
        servedTasks: all.servedTasks,
        taskFeed: all.feed,
        keyWatch,
        tasks,
        taskHooks: hooks,
        publicTransport: {
          refusalOf: (url) => (url.includes('169.254.') ? { sentence: 'it is private' } : undefined),
        },
        pushKey: async () => ({
          keySet: () => ({ keys: [{ kid: 'k1' }] }),
          tokenFor: () => '',
          derive: () => new Uint8Array(),
        }),
        routes: all.routes,
        accounts: { get: () => undefined },
        aliasesOf: async () => [],
        recorder,
        clock: systemClock,
        log: quietLog,
        stopping: stopping.signal,
      }),
    ),
  });
  onTestFinished(async () => {
    stopping.abort();
    keyWatch.stop();
    await server.close();
  });
  const keyWith = async (given: {
    scopes: ['a2a'] | ['routes:read'];
    chats?: string[];
    routes?: string[];
    perMinute?: number;
  }) => {
    const { perMinute = 1_000, ...more } = given;
    const { id, text, secretHash } = newKey();
    await keys.create({ id, name: 'k', secretHash, limits: { perMinute, perSecond: 1_000 }, ...more });
    return text;
  };
  const share = (name: string) =>
    all.routes.create(aNewRoute({ agentEndpoint: 'http://127.0.0.1:9', name, config: { shared: true } }));
  return { ...all, url: server.url, keys, keyWatch, keyWith, share, events, settingsStore, stopping, pushed };
}

const ALL: Array<[A2aVersion, A2aBinding]> = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
];

describe.each(ALL)('the official client of version %s over %s', (version, binding) => {
  it('talks to a shared route, reads the task and the extended card', async () => {
    const { url, share, keyWith } = await setup();
    await share('Front desk');
    const client = await a2aClient(url, { version, binding, key: await keyWith({ scopes: ['a2a'] }) });
    const task = seen(await client.sendMessage(a2aRequest({ text: 'Hi' })));
    expect(task).toMatchObject({ state: 'completed', answer: 'you said Hi' });
    expect(seen(await client.getTask({ tenant: '', id: task.id }))).toEqual(task);
    const card = await client.getAgentCard();
    expect(card.skills.map(({ id }) => id)).toEqual(['message-person', 'ask-person', 'talk-to-front-desk']);
  });

  it('streams a task until its end, and follows it from a second stream', async () => {
    const { url, state } = await setup();
    const client = await a2aClient(url, { version, binding, key: ADMIN_KEY });
    const data = { skill: 'message-person', to: '5493777239922', text: 'Hello' };
    const [opened, followed] = [new EventEmitter(), new EventEmitter()];
    const first = statesOf(client.sendMessageStream(a2aRequest({ data })), (id) => opened.emit('task', id));
    const [id] = (await once(opened, 'task')) as [string];
    const isFollowed = once(followed, 'task');
    const second = statesOf(client.resubscribeTask({ tenant: '', id }), () => followed.emit('task'));
    await isFollowed;
    await expect.poll(() => state.outbox.size).toBe(1);
    for (const row of state.outbox.values()) row.state = 'delivered';
    expect((await first).slice(-2)).toEqual(['artifact delivery', 'completed']);
    expect((await second).slice(-2)).toEqual(['artifact delivery', 'completed']);
    await expect(statesOf(client.resubscribeTask({ tenant: '', id }))).rejects.toThrow();
  });

  it('cancels a task once, and finds no task of another caller', async () => {
    const { url, keyWith } = await setup();
    const client = await a2aClient(url, { version, binding, key: await keyWith({ scopes: ['a2a'] }) });
    const other = await a2aClient(url, { version, binding, key: await keyWith({ scopes: ['a2a'] }) });
    const data = { skill: 'ask-person', to: '5493777239922', text: 'Well?' };
    const { id } = seen(await client.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    await expect(other.getTask({ tenant: '', id })).rejects.toThrow();
    await expect(other.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow();
    expect(seen(await client.cancelTask({ tenant: '', id, metadata: undefined })).state).toBe('canceled');
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow();
  });

  it('lists the skills when the text names none, and continues the task with the choice', async () => {
    const { url, share } = await setup();
    await share('desk');
    await share('shop');
    const client = await a2aClient(url, { version, binding, key: ADMIN_KEY });
    const asked = seen(await client.sendMessage(a2aRequest({ text: 'Hi' })));
    expect(asked.state).toBe('input-required');
    for (const skill of ['message-person', 'ask-person', 'talk-to-desk', 'talk-to-shop']) {
      expect(asked.said).toContain(skill);
    }
    const { id: taskId, contextId } = asked;
    const data = { skill: 'talk-to-shop' };
    const answered = seen(await client.sendMessage(a2aRequest({ data, taskId, contextId })));
    expect(answered).toMatchObject({ id: taskId, state: 'completed', answer: 'you said Hi' });
    await expect(client.sendMessage(a2aRequest({ data, taskId, contextId }))).rejects.toThrow();
  });

  it('sets push notifications, which get every update until the end', async () => {
    const { url, state, pushed } = await setup();
    const client = await a2aClient(url, { version, binding, key: ADMIN_KEY });
    const data = { skill: 'message-person', to: '5493777239922', text: 'Hello' };
    const { id: taskId } = seen(await client.sendMessage(a2aRequest({ data }, { returnImmediately: true })));
    const config = {
      tenant: '',
      taskId,
      id: 'h1',
      url: 'https://example.com/hook',
      token: 'tok',
      authentication: undefined,
    };
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject({ taskId, id: 'h1' });
    expect(await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'h1' })).toMatchObject({
      token: 'tok',
    });
    const list = await client.listTaskPushNotificationConfig({
      tenant: '',
      taskId,
      pageSize: 0,
      pageToken: '',
    });
    expect(list.configs.map(({ id }) => id)).toEqual(['h1']);
    await expect.poll(() => state.outbox.size).toBe(1);
    for (const row of state.outbox.values()) row.state = 'delivered';
    await expect.poll(() => pushed.at(-1), { timeout: 60_000 }).toBe(`${version} tok completed`);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'h1' });
    await expect(client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'h1' })).rejects.toThrow();
    const isPrivate = { ...config, url: 'http://169.254.169.254/' };
    await expect(client.createTaskPushNotificationConfig(isPrivate)).rejects.toThrow();
  });

  it('gets a mistake as an error', async () => {
    const { url } = await setup();
    const client = await a2aClient(url, { version, binding, key: ADMIN_KEY });
    for (const data of [
      { skill: 'message-person', to: 'nobody', text: 'x' },
      { skill: 'message-person', to: '5493777239922' },
      { skill: 'ask-person', to: '120363000000000001@g.us', text: 'x' },
      { skill: 'ask-person', to: '5493777239922', text: 'x', deadlineMinutes: 0 },
      { skill: 'message-person', to: '5493777239922', text: 'x', accountId: 'unknown' },
      { skill: 'fly', text: 'x' },
    ]) {
      await expect(client.sendMessage(a2aRequest({ data }))).rejects.toThrow();
    }
  });
});

describe('the A2A server', () => {
  it('opens one task for a message that is sent twice', async () => {
    const { url, sent } = await setup();
    const client = await a2aClient(url, { key: ADMIN_KEY });
    const data = { skill: 'message-person', to: '5493777239922', text: 'Once' };
    const request = a2aRequest({ data }, { returnImmediately: true });
    const [first, second] = [await client.sendMessage(request), await client.sendMessage(request)];
    expect(seen(first).id).toBe(seen(second).id);
    await expect.poll(sent).toEqual(['Once']);
  });

  it('takes 100 of 600 questions of a key, and says why it takes no more', async () => {
    const { url, keyWith } = await setup();
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'x-api-key': await keyWith({ scopes: ['a2a'], perMinute: 10_000 }),
    };
    const data = (n: number) => ({ skill: 'ask-person', to: '5493777239922', text: `Question ${n}?` });
    const ask = async (n: number) => {
      const message = { messageId: `m${n}`, role: 'ROLE_USER', parts: [{ data: data(n) }] };
      const params = { message, configuration: { returnImmediately: true } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: n, method: 'SendMessage', params });
      const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    };
    const answers = [];
    for (let n = 0; n < 600; n += 20) {
      answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, k) => ask(n + k)))));
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(500);
    expect(answers.at(-1)?.text).toContain('The caller has 100 open tasks.');
    // The first one again is not a new one.
    expect((await ask(0)).status).toBe(200);
  });

  it('answers 401 without a key, 403 without the scope and 429 over the limit', async () => {
    const { url, keyWith } = await setup();
    const call = async (key?: string) => {
      const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } });
      return fetch(`${url}/a2a`, { method: 'POST', headers, body });
    };
    expect((await call()).status).toBe(401);
    expect((await call(await keyWith({ scopes: ['routes:read'] }))).status).toBe(403);
    const limited = await keyWith({ scopes: ['a2a'], perMinute: 1 });
    expect((await call(limited)).status).toBe(200);
    const refused = await call(limited);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    const form = await fetch(`${url}/a2a`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'text/plain' },
      body: '{}',
    });
    expect(form.status).toBe(415);
    expect((await fetch(`${url}/a2a/nothing`, { headers: { 'x-api-key': ADMIN_KEY } })).status).toBe(404);
  });

  it('restricts keys to their chats and routes', async () => {
    const { url, keyWith, share } = await setup();
    const { id } = await share('desk');
    await share('shop');
    const ofDesk = await a2aClient(url, { key: await keyWith({ scopes: ['a2a'], routes: [id] }) });
    expect(seen(await ofDesk.sendMessage(a2aRequest({ text: 'Hi' })))).toMatchObject({ state: 'completed' });
    const shop = a2aRequest({ data: { skill: 'talk-to-shop', text: 'Hi' } });
    await expect(ofDesk.sendMessage(shop)).rejects.toThrow();
    const ofAna = await a2aClient(url, { key: await keyWith({ scopes: ['a2a'], chats: ['5493777239922'] }) });
    const to = (phone: string) => a2aRequest({ data: { skill: 'ask-person', to: phone, text: 'x' } });
    expect(seen(await ofAna.sendMessage(to('5493777239923')))).toMatchObject({
      state: 'rejected',
      said: 'The key may not use this chat.',
    });
    // The wildcard route answers every chat.
    expect(seen(await ofAna.sendMessage(a2aRequest({ text: 'Hi' }))).state).toBe('input-required');
  });

  it('names the public URL with its path in the card of a request to its host', async () => {
    const { url } = await setup();
    const headers = { host: 'wa2ai.example', 'a2a-version': '1.0' };
    const { text } = await rawRequest(`${url}/.well-known/agent-card.json`, { headers });
    const card = JSON.parse(text);
    expect(card.documentationUrl).toBe('https://wa2ai.example/bot/docs/a2a.md#wa2ai-as-an-a2a-agent');
    expect(card.supportedInterfaces[0].url).toBe('https://wa2ai.example/bot/a2a');
  });

  it('declares its keys and both versions in the card', async () => {
    const { url } = await setup();
    const get = async (version: string) =>
      (await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'a2a-version': version } })).json();
    const card = (await get('1.0')) as Record<string, unknown>;
    expect(card).toMatchObject({
      name: 'wa2ai',
      securitySchemes: {
        key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
        bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      },
    });
    expect(card.supportedInterfaces).toHaveLength(4);
    expect(card.supportedInterfaces).toContainEqual({
      url: `${url}/a2a`,
      protocolBinding: 'JSONRPC',
      tenant: '',
      protocolVersion: '1.0',
    });
    expect(await get('0.3')).toMatchObject({
      protocolVersion: '0.3',
      url: `${url}/a2a`,
      preferredTransport: 'JSONRPC',
    });
  });

  it('does not exist while it is off, which it is beyond loopback', async () => {
    const { url, settingsStore } = await setup({ host: '0.0.0.0' });
    const card = `${url}/.well-known/agent-card.json`;
    const headers = { 'x-api-key': ADMIN_KEY };
    expect((await fetch(card, { headers })).status).toBe(404);
    expect((await fetch(`${url}/a2a`, { method: 'POST', headers })).status).toBe(404);
    await settingsStore.put('a2a', { enabled: true });
    expect((await fetch(card)).status).toBe(200);
  });

  it('records each call', async () => {
    const { url, keyWith, events } = await setup();
    const key = await keyWith({ scopes: ['a2a'] });
    const client = await a2aClient(url, { key });
    await client.getTask({ tenant: '', id: 'none' }).catch(() => undefined);
    expect(events.at(-1)).toMatchObject({
      face: 'a2a',
      caller: 'key',
      keyId: key.split('_')[1],
      action: 'getTask',
      outcome: 'TASK_NOT_FOUND',
    });
  });

  it('takes the older media type of JSON-RPC', async () => {
    const { url } = await setup();
    const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json-rpc', 'a2a-version': '1.0' };
    const body = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}';
    const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: -32_001 } });
  });

  it.each(['', ',"params":null', ',"params":{"pageSize":null,"status":null}'])(
    'lists tasks of a call without parameters (%s)',
    async (params) => {
      const { url } = await setup();
      const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'a2a-version': '1.0' };
      const body = `{"jsonrpc":"2.0","id":1,"method":"ListTasks"${params}}`;
      const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body });
      expect(await response.json()).toMatchObject({ result: { tasks: [] } });
    },
  );

  it('says its versions to a client of the future', async () => {
    const { url } = await setup();
    const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'a2a-version': '2.0' };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}';
    const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body });
    const error = { code: -32_009, message: expect.stringContaining('Supported versions: 1.0, 0.3') };
    expect(await response.json()).toMatchObject({ error });
  });

  it('answers calls that are not of the protocol', async () => {
    const { url } = await setup();
    const call = async (body: string, version = '1.0') => {
      const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'a2a-version': version };
      const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body });
      return { status: response.status, body: (await response.json()) as { error?: { code?: number } } };
    };
    expect((await call('not json')).status).toBe(400);
    for (const body of [
      '[]',
      '{}',
      'null',
      '1',
      '{"jsonrpc":"2.0","id":1,"method":"constructor","params":{}}',
    ]) {
      const { body: answer } = await call(body);
      expect(answer.error?.code).toBeLessThan(-32_000);
    }
    const unknown = await call('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}', '9.9');
    expect(unknown.body.error?.code).toBe(-32_009);
    // A version with a patch number is the version.
    const patched = await call('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}', '1.0.0');
    expect(patched.body.error?.code).toBe(-32_001);
  });
});

/** Opens a stream without reading it. */
function openStream(url: string, id: string, key = ADMIN_KEY): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}/a2a`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'a2a-version': '1.0' },
    });
    request.on('response', resolve).on('error', reject);
    request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }));
  });
}

async function textOf(stream: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

describe('streams of the A2A server', () => {
  it('end on 1,000 connections at once when the task ends', async () => {
    const { url, servedTasks } = await setup();
    await servedTasks.open({
      id: 'busy',
      contextId: 'c',
      owner: 'admin',
      message: { messageId: 'm', text: 'x' },
    });
    const streams: IncomingMessage[] = [];
    // All at once would pass the time limit of the server for new connections on a busy machine.
    while (streams.length < 1_000) {
      streams.push(...(await Promise.all(Array.from({ length: 50 }, () => openStream(url, 'busy')))));
    }
    const ends = streams.map(textOf);
    await servedTasks.update('busy', { key: 'work', state: 'working', text: 'at work' });
    await servedTasks.update('busy', { key: 'end', state: 'completed', text: 'done' });
    const texts = await Promise.all(ends);
    expect(texts.every((text) => text.includes('"text":"done"'))).toBe(true);
    expect(texts.every((text) => text.match(/^data:/gm)?.length === 3)).toBe(true);
  }, 120_000);

  it('end when the key of the reader is revoked, and go on for others', async () => {
    const { url, servedTasks, keys, keyWatch, keyWith } = await setup();
    const key = await keyWith({ scopes: ['a2a'] });
    const keyId = key.split('_')[1] ?? '';
    const message = { messageId: 'm', text: 'x' };
    await servedTasks.open({ id: 'own', contextId: 'c', owner: keyId, message });
    await servedTasks.open({ id: 'other', contextId: 'c', owner: 'admin', message });
    const [own, other] = [await openStream(url, 'own', key), await openStream(url, 'other')];
    await keys.delete(keyId);
    await keyWatch.check();
    const ownText = await textOf(own);
    await servedTasks.update('own', { key: 'end', state: 'completed', text: 'a secret' });
    await servedTasks.update('other', { key: 'end', state: 'completed', text: 'done' });
    expect(ownText).toMatch(/^data: .*"task"/);
    expect(ownText).not.toContain('a secret');
    expect(await textOf(other)).toContain('"text":"done"');
  });

  it('buffer one event for readers that take nothing, who get every update later', async () => {
    const responses: ServerResponse[] = [];
    const onRequest = (message: unknown) =>
      responses.push((message as { response: ServerResponse }).response);
    subscribe('http.server.request.start', onRequest);
    onTestFinished(() => void unsubscribe('http.server.request.start', onRequest));
    const { url, servedTasks } = await setup();
    const message = { messageId: 'm', text: 'x' };
    await servedTasks.open({ id: 'loud', contextId: 'c', owner: 'admin', message });
    const slow = await Promise.all(Array.from({ length: 10 }, () => openStream(url, 'loud')));
    const fast = textOf(await openStream(url, 'loud'));
    const text = 'x'.repeat(400_000);
    for (let number = 0; number < 30; number++) {
      await servedTasks.update('loud', { key: String(number), state: 'working', text });
    }
    await servedTasks.update('loud', { key: 'end', state: 'completed', text: 'done' });
    expect((await fast).match(/^data:/gm)).toHaveLength(32);
    const buffered = responses.map(({ writableLength }) => writableLength);
    expect(buffered.filter((bytes) => bytes > 0).length).toBeGreaterThan(0);
    // One event has 400 kB, all of them 12 MB.
    expect(Math.max(...buffered)).toBeLessThan(800_000);
    for (const stream of slow) expect((await textOf(stream)).match(/^data:/gm)).toHaveLength(32);
  }, 120_000);

  it('end when the server stops', async () => {
    const { url, servedTasks, stopping } = await setup();
    await servedTasks.open({
      id: 't',
      contextId: 'c',
      owner: 'admin',
      message: { messageId: 'm', text: 'x' },
    });
    const stream = await openStream(url, 't');
    stopping.abort();
    let text = '';
    for await (const chunk of stream) text += chunk;
    expect(text).toMatch(/^data: .*"task"/);
  });
});
