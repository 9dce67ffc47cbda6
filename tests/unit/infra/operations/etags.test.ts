import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { etagOf, ifMatchOf, isKnown } from '../../../../router/src/infra/operations/response.ts';
import { aMessage, aPerson } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { aRoute } from '../../../support/routes.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

const aChat = async () => (await new MemoryInbox(api.state).add(aMessage('default', aPerson()), 'n1')).chatId;

/** Each object with an ETag: how it is read, and changes of it of which no two leave it as it was. */
const OBJECTS: Array<[what: string, open: () => Promise<{ path: string; changes: Change[] }>]> = [
  [
    'a route',
    async () => {
      const { id, agentEndpoint, config } = await api.routes.create(aRoute());
      const path = `/api/routes/${id}`;
      const { agent } = config;
      const whole = { name: 'whole', agentEndpoint, config: { [agent?.kind ?? '']: agent?.settings } };
      const changes: Change[] = [
        ['PATCH', path, { name: 'first' }],
        ['PATCH', path, { priority: 7 }],
        ['PUT', path, whole],
        ['DELETE', path],
      ];
      return { path, changes };
    },
  ],
  [
    'settings of conversations',
    settings('conversation', { egressFilter: 'off' }, { reply: { maxChars: 900 } }),
  ],
  [
    'settings of limits',
    settings('governor', { typing: { charsPerSecond: 9 } }, { messages: { perSecond: 3 } }),
  ],
  [
    'settings of the NPC server',
    settings('npc', { enabled: true, name: 'Guard' }, { enabled: false, name: 'Elf' }),
  ],
  ['settings of the A2A server', settings('a2a', { enabled: false }, { enabled: true })],
  ['settings of the MCP server', settings('mcp', { enabled: false }, { enabled: true })],
  [
    'a chat',
    async () => {
      const path = `/api/chats/${await aChat()}`;
      const changes: Change[] = [
        ['PUT', `${path}/tags`, { tags: ['vip'] }],
        ['PUT', `${path}/notes`, { notes: 'call' }],
        ['POST', `${path}/pause`, { minutes: 5 }],
        ['POST', `${path}/resume`],
        ['POST', `${path}/approve`],
        ['POST', `${path}/refuse`],
      ];
      return { path, changes };
    },
  ],
];

type Change = [method: string, path: string, body?: unknown];

function settings(name: string, ...bodies: unknown[]) {
  const path = `/api/settings/${name}`;
  return async () => ({ path, changes: bodies.map((body): Change => ['PUT', path, body]) });
}

describe.each(OBJECTS)('%s', (_what, open) => {
  const readEtag = async (path: string) => (await api.call('GET', path)).headers.get('etag') ?? 'none';

  it('is not changed by somebody who has not seen its last change', async () => {
    const { path, changes } = await open();
    let old = '"nothing"';
    for (const [method, changed, body] of changes) {
      const before = await api.call('GET', path);
      for (const ifMatch of [old, `W/${before.headers.get('etag')}`, '""']) {
        const refused = await api.call(method, changed, body, { 'if-match': ifMatch });
        expect([refused.status, refused.body.code], `${method} ${changed}`).toEqual([
          412,
          'PRECONDITION_FAILED',
        ]);
        expect(refused.body.error).toMatch(/Read it again/);
        expect(refused.body.docs).toMatch(/\/docs\/troubleshooting\.md#precondition_failed$/);
      }
      expect((await api.call('GET', path)).body).toEqual(before.body);
      const list = `${old} , , "a,b",${before.headers.get('etag')}`;
      const stored = await api.call(method, changed, body, { 'if-match': list });
      expect(stored.status, stored.text).toBe(200);
      if (method === 'DELETE') continue;
      expect(stored.headers.get('etag')).not.toBe(before.headers.get('etag'));
      expect(stored.headers.get('etag')).toBe(await readEtag(path));
      old = before.headers.get('etag') ?? '';
    }
  });

  it('takes any version with *, and without the header', async () => {
    const { changes } = await open();
    for (const [method, path, body] of changes) {
      if (method === 'DELETE') continue;
      expect((await api.call(method, path, body, { 'if-match': '*' })).status).toBe(200);
      expect((await api.call(method, path, body)).status).toBe(200);
    }
  });

  it('refuses an If-Match that is no list of tags', async () => {
    const { path, changes } = await open();
    const [[method, changed, body] = ['PUT', path] as Change] = changes;
    for (const ifMatch of ['abc', '"a" "b"', '"a', ',', `W/'a'`, '*, "a"']) {
      const refused = await api.call(method, changed, body, { 'if-match': ifMatch });
      expect([ifMatch, refused.status, refused.body.code]).toEqual([ifMatch, 400, 'INVALID_HEADERS']);
    }
  });
});

it('describes the changes of all these objects with their headers and 412', async () => {
  const { paths } = (await api.call('GET', '/openapi.json')).body;
  for (const [, open] of OBJECTS) {
    const { changes } = await open();
    for (const [method, path] of changes) {
      const described = paths[path.replace(/[0-9a-f-]{36}|(?<=\/)\d+(?=\/|$)/, '{id}')];
      const { parameters, responses } = described[method.toLowerCase()];
      expect(parameters.map(({ name }: { name: string }) => name)).toContain('If-Match');
      expect(responses).toHaveProperty('412');
      if (method !== 'DELETE') expect(responses['200'].headers).toHaveProperty('ETag');
    }
  }
});

it('sends 304 to a program that has the route, and the route after a change', async () => {
  const { id } = await api.routes.create(aRoute());
  const read = (headers: Record<string, string>) => api.call('GET', `/api/routes/${id}`, undefined, headers);
  const etag = (await read({})).headers.get('etag') ?? '';
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const same = await read({ 'if-none-match': known });
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', etag]);
  }
  await api.call('PATCH', `/api/routes/${id}`, { name: 'other' });
  expect((await read({ 'if-none-match': etag })).status).toBe(200);
  expect((await read({ 'if-match': etag })).status).toBe(412);
});

it('keeps the tag of a chat when a message comes, and shows the message', async () => {
  const person = aPerson();
  const inbox = new MemoryInbox(api.state);
  const { chatId } = await inbox.add(aMessage('default', person), 'n1');
  const before = await api.call('GET', `/api/chats/${chatId}`);
  const etag = before.headers.get('etag') ?? '';
  await inbox.add(aMessage('default', person, { text: 'and another one' }), 'n1');
  const after = await api.call('GET', `/api/chats/${chatId}`, undefined, { 'if-none-match': etag });
  expect([after.status, after.headers.get('etag')]).toEqual([200, etag]);
  expect(after.body.data.lastMessage.text).toBe('and another one');
});

it('answers 404, not 412, about a route that does not exist', async () => {
  const path = '/api/routes/00000000-0000-4000-8000-000000000000';
  expect((await api.call('PATCH', path, { name: 'x' }, { 'if-match': '"a"' })).status).toBe(404);
});

describe('etags', () => {
  it('are equal for equal objects, and different for others', () => {
    const at = new Date(5);
    expect(etagOf({ a: { x: 1, y: at }, b: undefined }, true)).toBe(
      etagOf({ a: { y: at.toISOString(), x: 1 } }, true),
    );
    expect(etagOf({ a: [1, 2] }, true)).not.toBe(etagOf({ a: [2, 1] }, true));
    expect(etagOf({ a: 1, b: 2 }, ['a'])).toBe(etagOf({ a: 1, b: 3 }, ['a']));
    expect(etagOf({ a: 1 }, ['a', 'b'])).not.toBe(etagOf({ b: 1 }, ['a', 'b']));
  });

  it('of a list are compared in time that grows with its length', () => {
    const list = (tags: number) => Array.from({ length: tags }, (_, tag) => `"${tag}"`).join(' ,, ');
    expect(isKnown(list(50_000), '"49999"')).toBe(true);
    expect(isKnown(`${' ,'.repeat(50_000)}"x`, '"x"')).toBe(false);
    expect(ifMatchOf(undefined, true)).toBeUndefined();
  });
});
