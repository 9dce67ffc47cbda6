import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { hostedAgentOf } from '../../../router/src/infra/agents/hosted/hosted-kind.ts';
import { CHAT_IMAGE } from '../../support/hosted-agents.ts';
import { httpApi } from '../../support/http-api.ts';
import { aRoute } from '../../support/routes.ts';

const api = httpApi();

const hosted = { image: CHAT_IMAGE, env: { MODEL_KEY: 'a secret' } };
const add = (id = 'helper', settings: object = hosted) =>
  api.call('POST', '/api/agents', { id, hosted: settings });
const say = (message: string, more: object = {}, id = 'helper') =>
  api.call('POST', `/api/agents/${id}/messages`, { text: message, ...more });

describe('POST /api/agents', () => {
  it('adds an agent without starting it, and shows no values of its variables', async () => {
    const { status, body, text } = await add();
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      ...{ id: 'helper', status: 'stopped', state: 'absent', node: 'n1', isolation: 'container' },
      hosted: { image: CHAT_IMAGE, env: { MODEL_KEY: '***' }, idleMinutes: 30, memoryMb: 1_024 },
    });
    expect(text).not.toContain('a secret');
    expect(await api.hosted.engine.list({})).toEqual([]);
  });

  it('changes the settings of a known agent, which keeps its data', async () => {
    await add();
    await say('my name is Ana');
    const changed = await add('helper', { ...hosted, idleMinutes: 5, env: {} });
    expect([changed.status, changed.body.data.hosted.idleMinutes]).toEqual([200, 5]);
    expect((await say('who am I')).body.data.response).toBe('You are Ana.');
  });

  it('runs an agent as a route says', async () => {
    const config = { agent: { kind: 'hosted', settings: hosted } };
    const route = await api.routes.create(aRoute({ agentEndpoint: '', config }));
    const { status, body } = await api.call('POST', '/api/agents', { id: 'copy', routeId: route.id });
    expect([status, body.data.routeId, body.data.hosted.image]).toEqual([201, route.id, CHAT_IMAGE]);
    const listed = await api.call('GET', `/api/agents?routeId=${route.id}`);
    expect(listed.body.data).toMatchObject([{ id: 'copy' }]);
    expect(listed.body.data[0]).not.toHaveProperty('usedBy');
  });

  it('names the route of an agent, and the person or the group that it answers', async () => {
    const config = { agent: { kind: 'hosted', settings: hosted } };
    const { id } = await api.routes.create(aRoute({ name: 'Helper', agentEndpoint: '', config }));
    const own = { ...hostedAgentOf('r-1', hosted, { id, accountId: 'default' }), usedBy: 'Chinonso Okafor' };
    await api.hosted.registry.claim(own, 'n1', 'folder');
    const named = { id: 'r-1', routeId: id, routeName: 'Helper', usedBy: 'Chinonso Okafor' };
    expect((await api.call('GET', '/api/agents')).body.data).toMatchObject([named]);
    expect((await api.call('GET', '/api/agents/r-1')).body.data).toMatchObject(named);
    await api.routes.delete(id);
    expect((await api.call('GET', '/api/agents/r-1')).body.data.routeName).toBeUndefined();
  });

  it.each([
    [{ id: 'Helper', hosted }, 'id must be'],
    [{ id: 'r-1', hosted }, "id must not begin with 'r-'"],
    [{ id: 'a' }, 'hosted must be given, or routeId'],
    [{ id: 'a', hosted: {} }, 'hosted.image is required'],
    [{ id: 'a', hosted: { runtime: 'process' } }, 'hosted.command is required'],
    [{ id: 'a', hosted: { image: 'x', wrong: 1 } }, 'wrong'],
  ])('refuses %j', async (given, sentence) => {
    const { status, body } = await api.call('POST', '/api/agents', given);
    expect([status, body.code]).toEqual([400, 'INVALID_BODY']);
    expect(body.error).toContain(sentence);
  });

  it('refuses a route of another kind, and one that does not exist', async () => {
    const route = await api.routes.create(aRoute());
    const other = await api.call('POST', '/api/agents', { id: 'a', routeId: route.id });
    expect([other.status, other.body.error]).toEqual([400, 'routeId must be a route with config.hosted.']);
    expect((await api.call('POST', '/api/agents', { id: 'a', routeId: 'none' })).status).toBe(404);
  });
});

describe('GET /api/agents', () => {
  it('has pages by id', async () => {
    for (const id of ['c', 'a', 'b']) await add(id);
    const first = await api.call('GET', '/api/agents?limit=2');
    expect(first.body.data.map(({ id }: { id: string }) => id)).toEqual(['a', 'b']);
    const next = await api.call('GET', `/api/agents?limit=2&cursor=${first.body.next}`);
    expect(next.body.data.map(({ id }: { id: string }) => id)).toEqual(['c']);
    expect(next.body.next).toBeUndefined();
  });

  it('shows the state of an agent of this node as it is now', async () => {
    await add();
    await say('hello');
    const { body } = await api.call('GET', '/api/agents/helper');
    expect(body.data).toMatchObject({ status: 'idle', state: 'ready' });
    expect((await api.call('GET', '/api/agents/none')).status).toBe(404);
  });
});

describe('the life of an agent', () => {
  it('is started, stopped and restarted by calls', async () => {
    await add();
    expect((await api.call('POST', '/api/agents/helper/start')).body.data.status).toBe('idle');
    const [before] = await api.hosted.engine.list({});
    expect((await api.call('POST', '/api/agents/helper/stop')).body.data.state).toBe('stopped');
    expect((await api.call('POST', '/api/agents/helper/restart')).body.data.state).toBe('ready');
    const [after] = await api.hosted.engine.list({});
    expect(after?.id).toBe(before?.id);
    expect((await api.call('POST', '/api/agents/none/start')).status).toBe(404);
  });

  it('says why an agent does not start, and what its log says', async () => {
    await add('helper', { ...hosted, command: ['fail'] });
    const { status, body } = await api.call('POST', '/api/agents/helper/start');
    expect([status, body.code]).toEqual([503, 'AGENT_START_FAILED']);
    expect(body.error).toContain('cannot start');
    expect((await api.call('GET', '/api/agents/helper')).body.data).toMatchObject({ state: 'failed' });
  });

  it('ends with its data when it is deleted', async () => {
    await add();
    await say('my name is Ana');
    expect((await api.call('DELETE', '/api/agents/helper')).body.message).toBe('Agent deleted.');
    expect((await api.call('DELETE', '/api/agents/helper')).status).toBe(404);
    expect(await api.hosted.engine.list({})).toEqual([]);
    await add();
    expect((await say('who am I')).body.data.response).toBe('I do not know yet.');
  });

  it('is changed only by its node', async () => {
    await api.hosted.registry.claim(hostedAgentOf('far', hosted), 'n2', 'folder');
    api.hosted.liveNodes = ['n1', 'n2'];
    for (const path of ['start', 'stop', 'restart']) {
      const { status, body } = await api.call('POST', `/api/agents/far/${path}`);
      expect([status, body.code]).toEqual([409, 'AGENT_ELSEWHERE']);
      expect(body.error).toContain('"n2"');
    }
    const { body } = await api.call('DELETE', '/api/agents/far');
    expect(body.message).toBe('Its node deletes the agent.');
    expect((await api.call('GET', '/api/agents/far')).body.data.isDeleting).toBe(true);
  });
});

describe('messages to an agent', () => {
  beforeEach(() => add());

  it('wake it, and are answered', async () => {
    const { status, body } = await say('hello');
    expect(status).toBe(200);
    expect(body.data).toEqual({
      messageId: expect.any(String),
      state: 'answered',
      response: 'This is message 1: hello',
    });
  });

  it('are sent once for each id', async () => {
    await say('hello', { messageId: 'm1' });
    const again = await say('hello', { messageId: 'm1' });
    expect(again.body.data.response).toBe('This is message 1: hello');
    expect((await say('more')).body.data.response).toBe('This is message 2: more');
  });

  it('follow each other', async () => {
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => say(text)));
    const texts = answers.map(({ body }) => body.data.response);
    expect(texts).toEqual(['This is message 1: a', 'This is message 2: b', 'This is message 3: c']);
  });

  it('can be waited for later', async () => {
    const first = await say('hello', { messageId: 'm1', waitSeconds: 0 });
    expect([first.status, first.body.data]).toEqual([202, { messageId: 'm1', state: 'working' }]);
    const second = await say('hello', { messageId: 'm1' });
    expect(second.body.data.response).toBe('This is message 1: hello');
  });

  it('are read from the history of the agent, oldest first', async () => {
    await say('my name is Ana');
    await say('who am I');
    const { body } = await api.call('GET', '/api/agents/helper/messages?count=3');
    expect(body.data).toEqual([
      { role: 'assistant', content: 'Nice to meet you, Ana.' },
      { role: 'user', content: 'who am I' },
      { role: 'assistant', content: 'You are Ana.' },
    ]);
    expect([body.count, body.working, body.failed]).toEqual([3, [], []]);
  });

  it('fail with the reason, and can be sent again', async () => {
    api.hosted.engine.isDown = true;
    const failed = await say('hello', { messageId: 'm1' });
    expect([failed.status, failed.body.code]).toEqual([503, 'AGENT_UNAVAILABLE']);
    api.hosted.engine.isDown = false;
    const open = await api.call('GET', '/api/agents/helper/messages');
    expect(open.body.failed).toMatchObject([{ messageId: 'm1', code: 'AGENT_UNAVAILABLE' }]);
    const again = await say('hello', { messageId: 'm1' });
    expect(again.body.data.response).toBe('This is message 1: hello');
  });

  it('cannot be read from agents without a history', async () => {
    await add('other', { ...hosted, profile: 'agentcore' });
    const { status, body } = await api.call('GET', '/api/agents/other/messages');
    expect([status, body.code]).toEqual([409, 'AGENT_NO_HISTORY']);
  });
});

describe('the log of an agent', () => {
  it('is a list of lines, or a stream that goes on', async () => {
    await add();
    await say('hello');
    const { body } = await api.call('GET', '/api/agents/helper/logs?tail=1');
    expect(body.data).toEqual([{ stream: 'stdout', text: 'agent listens on port 8080' }]);
    const stream = await fetch(`${api.url}/api/agents/helper/logs?follow=true`);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const text = stream.text();
    await api.call('POST', '/api/agents/helper/stop');
    expect(await text).toBe(
      'data: {"stream":"stdout","text":"agent listens on port 8080"}\n\nevent: end\ndata: {}\n\n',
    );
  });

  it('ends when its reader leaves', async () => {
    await add();
    await say('hello');
    const gone = new AbortController();
    const stream = await fetch(`${api.url}/api/agents/helper/logs?follow=true`, { signal: gone.signal });
    await stream.body?.getReader().read();
    gone.abort();
    // A log that is followed still would keep the server from closing.
    await api.hosted.close();
  });
});

describe('the files of an agent', () => {
  const folder = () => join(api.hosted.folder, 'agents/helper');

  beforeEach(async () => {
    await add();
    await say('my name is Ana');
    writeFileSync(join(folder(), 'workspace/notes.txt'), 'hello');
  });

  it('are listed with their size', async () => {
    const { body } = await api.call('GET', '/api/agents/helper/files');
    const paths = body.data.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['session.json', 'workspace/notes.txt']);
    expect(body.data[1]).toMatchObject({ bytes: 5, changedAt: expect.stringMatching(/Z$/) });
    // A folder and two files, each in a block of the disk.
    expect(body.bytes).toBe(3 * 4_096);
  });

  it('are read and deleted', async () => {
    const path = '/api/agents/helper/files/content?path=workspace/notes.txt';
    const answer = await api.call('GET', path);
    expect(answer.text).toBe('hello');
    expect(answer.headers.get('content-disposition')).toContain('notes.txt');
    const content = '/api/agents/helper/files?path=workspace/notes.txt';
    expect((await api.call('DELETE', content)).status).toBe(200);
    expect((await api.call('GET', path)).status).toBe(404);
  });

  const upload = async (path: string, text = 'new', name = 'file') => {
    const body = new FormData();
    body.append(name, new Blob([text]), 'x.txt');
    const url = `${api.url}/api/agents/helper/files/content?path=${encodeURIComponent(path)}`;
    const response = await fetch(url, { method: 'PUT', body });
    return { status: response.status, body: (await response.json()) as { code?: string; error?: string } };
  };

  it('are stored and replaced whole, in new folders too', async () => {
    for (const [path, text] of [
      ['workspace/notes.txt', 'replaced'],
      ['workspace/a/b/new.txt', ''],
      ['ñandú 1.txt', 'x'],
    ] as const) {
      expect((await upload(path, text)).status).toBe(200);
      const url = `/api/agents/helper/files/content?path=${encodeURIComponent(path)}`;
      expect((await api.call('GET', url)).text).toBe(text);
    }
    expect(readdirSync(join(folder(), 'workspace')).sort()).toEqual(['a', 'notes.txt']);
  });

  it.each([
    '../../secret/key',
    '/etc/hosts',
    'workspace/../../x',
    'workspace//x',
    'workspace/.',
    'workspace/link/key',
    'workspace/notes.txt/x',
    'workspace',
    'a\\b',
    'line\nbreak',
    `${'d/'.repeat(40)}x`,
    'x'.repeat(256),
  ])('are not stored at %j', async (path) => {
    mkdirSync(join(api.hosted.folder, 'secret'));
    symlinkSync(join(api.hosted.folder, 'secret'), join(folder(), 'workspace/link'));
    expect(await upload(path)).toMatchObject({ status: 400, body: { code: 'INVALID_QUERY' } });
    expect(readdirSync(join(api.hosted.folder, 'secret'))).toEqual([]);
    expect(readFileSync(join(folder(), 'workspace/notes.txt'), 'utf8')).toBe('hello');
  });

  it('replace a link, and not what it leads to', async () => {
    writeFileSync(join(api.hosted.folder, 'key'), 'secret');
    symlinkSync(join(api.hosted.folder, 'key'), join(folder(), 'workspace/key'));
    expect((await upload('workspace/key')).status).toBe(200);
    expect(readFileSync(join(api.hosted.folder, 'key'), 'utf8')).toBe('secret');
    expect(readFileSync(join(folder(), 'workspace/key'), 'utf8')).toBe('new');
  });

  it('are not stored when they are too large, or the form has no file', async () => {
    expect(await upload('workspace/x', 'x'.repeat(10_000_001))).toMatchObject({
      status: 400,
      body: { error: 'file must contain at most 10 MB.' },
    });
    expect((await upload('workspace/x', 'x'.repeat(11_000_001))).status).toBe(413);
    expect(await upload('workspace/x', 'x', 'other')).toMatchObject({ body: { code: 'INVALID_BODY' } });
    writeFileSync(join(folder(), 'workspace/large'), Buffer.alloc(64 * 1024 * 1024));
    expect(await upload('workspace/x')).toMatchObject({ status: 409, body: { code: 'AGENT_DISK_FULL' } });
    expect(readdirSync(join(folder(), 'workspace')).sort()).toEqual(['large', 'notes.txt']);
  });

  it('do not lead out of its folder', async () => {
    mkdirSync(join(api.hosted.folder, 'secret'));
    writeFileSync(join(api.hosted.folder, 'secret/key'), 'x');
    symlinkSync(join(api.hosted.folder, 'secret'), join(folder(), 'workspace/link'));
    symlinkSync(join(api.hosted.folder, 'secret/key'), join(folder(), 'workspace/key'));
    for (const path of ['../../secret/key', 'workspace/link/key', 'workspace/key', '/etc/hosts']) {
      const url = `/api/agents/helper/files/content?path=${encodeURIComponent(path)}`;
      expect([path, (await api.call('GET', url)).status]).toEqual([path, 404]);
    }
    const { body } = await api.call('GET', '/api/agents/helper/files');
    expect(body.data).toHaveLength(2);
  });

  it('are downloaded as one archive', async () => {
    const answer = await fetch(`${api.url}/api/agents/helper/files/archive`);
    expect(answer.headers.get('content-type')).toBe('application/x-tar');
    const archive = Buffer.from(await answer.arrayBuffer());
    expect(archive.length % 512).toBe(0);
    expect(archive.includes('workspace/notes.txt')).toBe(true);
  });
});

describe('a program outside of a container', () => {
  const process = { runtime: 'process', command: ['node', '-e', ''] };
  const asManager = async () => ({
    'x-api-key': await api.addKey({ scopes: ['agents:manage', 'routes:write'] }),
  });

  it('is not added, and not put in the place of a container, without the scope admin', async () => {
    const headers = await asManager();
    for (const id of ['helper', 'new']) {
      if (id === 'helper') await add();
      const { status, body } = await api.call('POST', '/api/agents', { id, hosted: process }, headers);
      expect([status, body.code, body.error]).toEqual([
        403,
        'SCOPE_MISSING',
        expect.stringContaining('admin'),
      ]);
    }
    expect((await add('new', process)).status).toBe(201);
    expect((await api.call('POST', '/api/agents', { id: 'new', hosted }, headers)).status).toBe(403);
  });

  it('is not written into the folder of an agent that is a process, without the scope admin', async () => {
    await add('helper', process);
    const form = new FormData();
    form.append('file', new Blob(['process.exit()']), 'server.js');
    const url = `${api.url}/api/agents/helper/files/content?path=workspace/server.js`;
    const answer = await fetch(url, { method: 'PUT', body: form, headers: await asManager() });
    expect(answer.status).toBe(403);
  });

  it('is not the agent of a route that a key without the scope admin writes', async () => {
    const headers = await asManager();
    const body = { channelId: '34600111222', config: { hosted: process } };
    expect(await api.call('POST', '/api/routes', body, headers)).toMatchObject({
      ...{ status: 403, body: { code: 'SCOPE_MISSING' } },
    });
    expect((await api.call('POST', '/api/routes', body)).status).toBe(201);
  });
});

describe('a restricted key', () => {
  it('reaches the agents of its routes only', async () => {
    await add();
    const key = await api.addKey({ scopes: ['agents:manage'], routes: ['r1'] });
    const headers = { 'x-api-key': key };
    for (const [method, path] of [
      ['GET', '/api/agents'],
      ['GET', '/api/agents/helper'],
      ['DELETE', '/api/agents/helper'],
      ['POST', '/api/agents/helper/start'],
    ] as const) {
      const { status, body } = await api.call(method, path, undefined, headers);
      expect([path, status, body.code]).toEqual([path, 403, 'ROUTE_NOT_ALLOWED']);
    }
    expect((await api.call('GET', '/api/agents?routeId=r1', undefined, headers)).status).toBe(200);
  });

  it('of some chats reaches no agents', async () => {
    const key = await api.addKey({ scopes: ['agents:manage'], chats: ['5493777239922'] });
    const { status, body } = await api.call('GET', '/api/agents', undefined, { 'x-api-key': key });
    expect([status, body.code]).toEqual([403, 'CHAT_NOT_ALLOWED']);
  });
});
