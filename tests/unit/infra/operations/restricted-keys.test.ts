import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESTRICTIONS, type Restriction } from '../../../../router/src/core/access/caller.ts';
import { SCOPES } from '../../../../router/src/core/access/scopes.ts';
import type { TurnResult } from '../../../../router/src/core/turns/turn.ts';
import { aMessage, aReply } from '../../../contracts/adapters.ts';
import { aDeadLetter, aReceivedMessage, aSentMessage } from '../../../doubles/fake-message-log.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { aRoute } from '../../../support/routes.ts';

/** What is stored for one of two neighbours. Its name is part of every text. */
interface Neighbour {
  name: 'alpha' | 'bravo';
  accountId: string;
  phone: string;
  routeId: string;
  chatId: string;
  taskId: string;
  draftId: string;
  /** Of a message received, one sent and a dead letter, in the log. */
  logId: string;
}

let api: HttpApi;
let alpha: Neighbour;
let bravo: Neighbour;
const admin = { 'x-api-key': ADMIN_KEY };

beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
  api.accounts.set({ accountId: 'bravo-account', phone: '15550009999' });
  alpha = await seed({ name: 'alpha', accountId: 'default', phone: '15550000001', logId: '11' });
  bravo = await seed({ name: 'bravo', accountId: 'bravo-account', phone: '15550000002', logId: '21' });
});
afterAll(() => api.close());

async function seed(given: Pick<Neighbour, 'name' | 'accountId' | 'phone' | 'logId'>): Promise<Neighbour> {
  const { name, accountId, phone, logId } = given;
  const text = `${name} words`;
  const { id: routeId } = await api.routes.create(
    aRoute({ accountId, channelId: phone, name: `${name}-route`, agentEndpoint: `http://${name}.example` }),
  );
  const inbox = new MemoryInbox(api.state);
  const person = { kind: 'person' as const, phone };
  const open = await inbox.add(aMessage(accountId, person, { text }), 'n1');
  await api.remoteTasks.add({ accountId, messageId: open.messageId, routeId }, `${name}-task`);
  await inbox.finishTurn(open.messageId, { state: 'answered', reason: 'task-started', routeId, replies: [] });
  const asked = await inbox.add(aMessage(accountId, person, { text }), 'n1');
  const replies = [aReply(accountId, `${phone}@s.whatsapp.net`, text)];
  const draft: TurnResult = { state: 'answered', reason: 'draft', isDraft: true, replies };
  await inbox.finishTurn(asked.messageId, draft, { claim: asked.worker });
  const row = { accountId, channelId: phone, chatId: open.chatId, text };
  const trace = [{ routeId, name: `${name}-route`, outcome: 'taken' }];
  const received = aReceivedMessage({ ...row, id: logId, from: `${phone}@s.whatsapp.net`, routeId, trace });
  api.messageLog.rows.push(received);
  api.messageLog.sentRows.push(aSentMessage({ ...row, id: `${logId}0`, to: `${phone}@s.whatsapp.net` }));
  api.messageLog.deadRows.push(aDeadLetter({ ...row, id: logId, trace, error: `${name} failed` }));
  const taskId = (await api.remoteTasks.startedBy(open.messageId)) ?? '';
  return { ...given, routeId, chatId: open.chatId, taskId, draftId: asked.messageId };
}

const ALLOWED: Record<Restriction, () => Partial<Parameters<HttpApi['addKey']>[0]>> = {
  chats: () => ({ chats: [alpha.phone] }),
  routes: () => ({ routes: [alpha.routeId] }),
  accounts: () => ({ accounts: [alpha.accountId] }),
};

/** What must not be shown of the other one. A key for some routes reads the messages of every chat, without their routes. */
const HIDDEN: Record<Restriction, () => string[]> = {
  chats: () => ['bravo words', 'bravo failed', 'bravo-route', 'bravo.example', 'bravo-task', bravo.phone],
  routes: () => ['bravo-route', 'bravo.example', 'bravo-task', bravo.routeId],
  accounts: () => ['bravo', bravo.phone, '15550009999'],
};

/** Ids of the neighbour for a path of the API, by what it names. */
function idsFor(path: string, of: Neighbour): string[] {
  if (path.startsWith('/api/routes/{id}')) return [of.routeId, of.phone];
  if (path.startsWith('/api/chats/{id}')) return [of.chatId];
  if (path.startsWith('/api/messages/{id}')) return [of.logId, `${of.logId}0`];
  if (path.startsWith('/api/dead-letters/{id}')) return [of.logId];
  if (path.startsWith('/api/tasks/{id}')) return [of.taskId];
  if (path.startsWith('/api/drafts/{id}')) return [of.draftId];
  if (path.startsWith('/api/accounts/{id}')) return [of.accountId];
  return ['1'];
}

const QUERIES = (of: Neighbour) => [
  '',
  `?accountId=${of.accountId}`,
  `?channelId=${of.phone}`,
  `?accountId=${of.accountId}&channelId=${of.phone}`,
  `?account=${of.accountId}`,
  '?direction=all',
  '?trace=true',
  `?text=${of.name}`,
];

/** The response; the rest of a stream is not read. */
async function textOf(method: string, path: string, headers: Record<string, string>) {
  const gone = new AbortController();
  const init = { method: method.toUpperCase(), headers, signal: gone.signal, redirect: 'manual' as const };
  const response = await fetch(api.url + path, init);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await response.text();
  gone.abort();
  return { status: response.status, text };
}

describe.each(RESTRICTIONS)('a key with every scope, restricted to some %s', (restriction) => {
  it('sees and changes nothing of the others, by any operation, filter or id', async () => {
    const scopes = SCOPES.filter((scope) => scope !== 'admin');
    const headers = { 'x-api-key': await api.addKey({ scopes, ...ALLOWED[restriction]() }) };
    const before = JSON.stringify(await snapshot(restriction));
    const shown: string[] = [];
    let calls = 0;
    for (const { method, path, operationId, scopes: needed } of api.endpoints) {
      // Public calls have no caller.
      if (needed === 'public') continue;
      for (const id of idsFor(path, bravo)) {
        const filled = path.replace('{id}', id).replaceAll(/\{\w+\}/g, '1');
        for (const query of method === 'get' ? QUERIES(bravo) : ['']) {
          const { text } = await textOf(method, filled + query, headers);
          calls += 1;
          // What the caller sent itself is repeated in some errors.
          const visible = text.replaceAll(id, '');
          const leaked = HIDDEN[restriction]().filter((word) => word !== id && visible.includes(word));
          if (leaked.length > 0) shown.push(`${operationId} ${query}: ${leaked.join(', ')}`);
        }
      }
    }
    expect(shown).toEqual([]);
    expect(calls).toBeGreaterThan(300);
    expect(JSON.stringify(await snapshot(restriction))).toBe(before);
  });

  it('sees and may change its own', async () => {
    const scopes = SCOPES.filter((scope) => scope !== 'admin');
    const headers = { 'x-api-key': await api.addKey({ scopes, ...ALLOWED[restriction]() }) };
    for (const [path, word] of [
      ['/api/routes', 'alpha-route'],
      [`/api/routes/${alpha.routeId}`, 'alpha-route'],
      ['/api/messages?direction=all', 'alpha words'],
      [`/api/messages/${alpha.logId}`, 'alpha-route'],
      ['/api/dead-letters', 'alpha failed'],
      ['/api/chats', alpha.phone],
      ['/api/tasks', 'alpha-task'],
      ['/api/drafts', 'alpha words'],
      ['/api/accounts', 'default'],
    ] as const) {
      expect((await textOf('get', path, headers)).text, path).toContain(word);
    }
    expect((await textOf('post', `/api/chats/${alpha.chatId}/pause`, headers)).status).toBe(200);
    expect((await textOf('post', `/api/chats/${alpha.chatId}/resume`, headers)).status).toBe(200);
  });
});

/** Everything that a key with this restriction must not change. */
async function snapshot(restriction: Restriction) {
  const read = async (path: string) => (await textOf('get', path, admin)).text;
  // A key for some routes may write to every chat.
  const ofChats =
    restriction === 'routes' ? [] : [`/api/chats/${bravo.chatId}`, '/api/drafts?accountId=bravo-account'];
  const all = [
    'routes',
    'accounts/bravo-account',
    'settings/conversation',
    'settings/governor',
    'webhooks',
    'agents',
  ];
  const paths = [...ofChats, ...all.map((path) => `/api/${path}`)];
  return [...(await Promise.all(paths.map(read))), ...(restriction === 'routes' ? [] : [api.sent.length])];
}
