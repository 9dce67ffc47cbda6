import nock from 'nock';
import { describe, expect, it } from 'vitest';
import type { AttemptOptions, AttemptStore } from '../../../../../router/src/core/agent-client.ts';
import type { AgentHost } from '../../../../../router/src/core/hosting/agent-host.ts';
import type { HostedAgent } from '../../../../../router/src/core/hosting/agent-life.ts';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import type { AuditEvent } from '../../../../../router/src/core/ports/audit-log.ts';
import type { AgentSession } from '../../../../../router/src/core/tasks.ts';
import { ShellAgentClient } from '../../../../../router/src/infra/agents/shell/shell-agent-client.ts';
import type { ShellSettings } from '../../../../../router/src/infra/agents/shell/shell-settings.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { directMatcher } from '../../../../doubles/direct-matcher.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

mockNetwork();

let runtimes = 0;
const PERSON = '5493777239922';

type Reply = [status: number, body: object];
type Handler = (body: Record<string, unknown>) => Reply | Promise<Reply>;

const observed = (output: string, exit_code: number | null = 0): Reply => [200, { output, exit_code }];
const faulty = (name: string, extra_info = {}): Reply => [
  511,
  { swerexception: { message: 'said', class_path: `x.${name}`, extra_info } },
];

/** A runtime that records its requests; `answers` replaces what a path answers. */
function setup(
  settings: Partial<ShellSettings> = {},
  answers: Record<string, Handler> = {},
  { canReplay = true, hosting = undefined as Pick<AgentHost, 'use' | 'stop'> | undefined } = {},
) {
  runtimes += 1;
  const url = `http://runtime-${runtimes}.test`;
  const clock = new FakeClock();
  const requests: Array<{ path: string; body: Record<string, unknown>; id: string; only: boolean }> = [];
  const steps: string[] = [];
  const events: AuditEvent[] = [];
  const tasks: string[] = [];
  let stored: AgentSession | undefined;
  const handlers: Record<string, Handler> = {
    '/create_session': () => [200, { output: '', session_type: 'bash' }],
    '/close_session': () => [200, {}],
    '/run_in_session': ({ command }) => observed(`ran ${command}`),
    '/execute': () => [200, { stdout: 'listed', stderr: '', exit_code: 0 }],
    '/upload': () => [200, {}],
    ...answers,
  };
  nock(url)
    .persist()
    .post(/.*/)
    .reply(async function (path, body) {
      const parsed = typeof body === 'object' ? (body as Record<string, unknown>) : {};
      const only = this.req.headers['x-request-replay'] !== undefined;
      requests.push({ path, body: parsed, id: String(this.req.headers['x-request-id']), only });
      steps.push(path);
      const handler = handlers[path];
      if (!handler) throw new Error(`unexpected request ${path}`);
      const [status, answer] = await handler(parsed);
      return [status, answer, canReplay ? { 'x-request-replay': 'yes' } : {}];
    });
  const audit = {
    append: async (added: readonly AuditEvent[]) => {
      steps.push('audit');
      events.push(...added);
    },
  };
  const store: AttemptStore = {
    tasks: async () => [],
    addTask: async (id) => void tasks.push(id),
    chatTasks: async () => [],
    knownTasks: async () => [],
    session: async () => stored,
    saveSession: async (session) => {
      stored = session;
    },
  };
  const transports = { transport: new AgentTransport() };
  const client = new ShellAgentClient(
    {
      defaultTimeoutMs: () => 30_000,
      matcher: directMatcher,
      log: quietLog,
      clock,
      audit,
      ...transports,
      ...(hosting && { hosting }),
    },
    { allow: [PERSON], ...settings },
    { id: 'AB12-route', accountId: 'default' },
  );
  const message = (text: string, fields: Partial<IncomingMessage> = {}): IncomingMessage => ({
    ...{ id: 'M1', accountId: 'default', from: `${PERSON}@s.whatsapp.net`, channelId: PERSON },
    ...{ text, timestamp: new Date(0), ...fields },
  });
  const say = async (text: string, fields: Partial<IncomingMessage> = {}, options: AttemptOptions = {}) =>
    await client.sendMessage(url, message(text, fields), { store, ...options });
  const follow = (remoteId: string) =>
    client.followTask(url, { remoteId, message: message('x') }, { signal: new AbortController().signal });
  const commands = () => requests.filter(({ path }) => path === '/run_in_session');
  return { url, client, clock, say, follow, message, requests, commands, steps, events, tasks };
}

describe('ShellAgentClient', () => {
  it.each([
    ['another person', { from: '5490000000000@s.whatsapp.net', channelId: '5490000000000' }],
    ['an allowed person in a group that is not', { channelId: '120363000000000000@g.us', isGroup: true }],
  ])('refuses %s, records that, and sends nothing', async (_, fields) => {
    const { say, requests, events } = setup();
    expect((await say('ls', fields)).response).toBe('You may not use this shell.');
    expect(requests).toEqual([]);
    expect(events).toMatchObject([{ action: 'shellRefused', outcome: 'FORBIDDEN', requestId: 'M1' }]);
  });

  it('neither runs an edited message nor asks the runtime for help', async () => {
    const { say, requests } = setup();
    expect((await say('ls', { editOf: 'M0' })).response).toContain('is not run');
    expect((await say('/help')).response).toContain('/interrupt');
    expect(requests).toEqual([]);
  });

  it('counts and records a command before it sends anything', async () => {
    const { say, steps, events } = setup();
    const beforeRequest = async () => void steps.push('counted');
    expect((await say('ls', {}, { beforeRequest })).response).toBe('```ran ls```');
    expect(steps).toEqual(['counted', 'audit', '/create_session', '/run_in_session', 'audit']);
    expect(events.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['shellCommand', 'begun'],
      ['shellCommand', 'exit 0'],
    ]);
  });

  it.each([
    ['/interrupt', 'shellInterrupt'],
    ['/reset', 'shellReset'],
    ['/files', 'shellFiles'],
    ['/get a', 'shellGet'],
  ])('records %s and its end', async (text, action) => {
    const { say, events } = setup(
      {},
      { '/execute': () => [200, { stdout: 'eA==', stderr: '', exit_code: 0 }] },
    );
    await say(text);
    const common = { face: 'shell', caller: 'person', action };
    expect(events).toMatchObject([
      { ...common, outcome: 'begun' },
      { ...common, outcome: 'ok' },
    ]);
  });

  it('records an upload, and refuses one whose file cannot be loaded', async () => {
    const { say, events } = setup();
    const media = { kind: 'document' as const, mimeType: 'text/plain', fileName: 'a' };
    await say('/data/a', { media }, { loadMedia: async () => new Uint8Array(2) });
    await expect(say('/data/a', { media })).rejects.toMatchObject({ code: 'MEDIA_GONE' });
    const recorded = events.map(({ action, outcome }) => `${action} ${outcome}`);
    const begun = 'shellUpload begun';
    expect(recorded).toEqual([begun, 'shellUpload ok', begun, 'shellUpload MEDIA_GONE']);
  });

  it('gives a command the same request id in each attempt, and another one to each message and person', async () => {
    const { say, commands } = setup({ allow: [PERSON, '5490000000001'] });
    await say('ls');
    await say('ls', {}, { isRepeat: true });
    await say('ls', { id: 'M2' });
    await say('ls', { from: '5490000000001@s.whatsapp.net' });
    const [first, again, ...others] = commands();
    expect(again?.id).toBe(first?.id);
    expect(again?.only).toBe(true);
    expect(new Set([first, ...others].map((each) => each?.id)).size).toBe(3);
  });

  it('does not run a command again when nobody knows whether it ran', async () => {
    const forgotten = setup({}, { '/run_in_session': () => [409, {}] });
    await expect(forgotten.say('ls', {}, { isRepeat: true })).rejects.toMatchObject({
      code: 'AGENT_UNCERTAIN',
    });
    const original = setup({}, {}, { canReplay: false });
    await expect(original.say('ls', {}, { isRepeat: true })).rejects.toMatchObject({
      code: 'AGENT_UNCERTAIN',
    });
    expect(original.commands()).toEqual([]);
    await original.say('ls', {}, { isRepeat: true, isCleared: true });
    expect(original.commands()).toHaveLength(1);
  });

  it('waits for a command of a runtime that repeats no answers', async () => {
    let end: (reply: Reply) => void = () => undefined;
    const ended = new Promise<Reply>((resolve) => {
      end = resolve;
    });
    const { say, clock, commands, tasks } = setup(
      {},
      { '/run_in_session': () => ended },
      { canReplay: false },
    );
    const asked = say('sleep 10');
    await expect.poll(() => commands().length).toBe(1);
    await settle();
    await clock.advanceMs(60_000);
    end(observed('done'));
    expect((await asked).response).toBe('```done```');
    expect(tasks).toEqual([]);
  });

  it('reports a task whose runtime was started again', async () => {
    const { follow } = setup({}, { '/run_in_session': () => [409, {}] });
    await expect(follow('r1')).rejects.toMatchObject({ code: 'SHELL_RESTARTED' });
  });

  it('says that the shell has ended, and what is wrong with the syntax', async () => {
    const ended = setup({}, { '/run_in_session': () => faulty('EOF', { output: 'bye' }) });
    expect((await ended.say('exit')).response).toBe(
      '```bye```\nThe shell has ended. The next command starts a new one.',
    );
    const wrong = setup(
      {},
      { '/run_in_session': () => faulty('BashIncorrectSyntaxError', { bash_stderr: 'bash: line 1: no' }) },
    );
    expect((await wrong.say("echo '")).response).toBe('```bash: line 1: no```');
  });

  it('asks before a command that matches a pattern of the route, and sends it only after a yes', async () => {
    const { say, commands, events } = setup({ confirm: ['^deploy\\b'] });
    expect((await say('deploy now')).response).toContain('Run it? Answer yes or no.');
    expect((await say('no', { id: 'M2' })).response).toBe('The command was not run.');
    await say('deploy now', { id: 'M3' });
    expect(commands()).toEqual([]);
    await say('yes', { id: 'M4' });
    expect(commands().map(({ body }) => body.command)).toEqual(['deploy now']);
    expect(events.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      ...['shellQuestion asked', 'shellQuestion declined', 'shellQuestion asked', 'shellQuestion confirmed'],
      ...['shellCommand begun', 'shellCommand exit 0'],
    ]);
  });

  it('does not run a dangerous command where nothing can be asked', async () => {
    const { url, client, message, requests } = setup();
    const { response } = await client.sendMessage(url, message('rm -rf /'));
    expect(response).toContain('It was not run.');
    expect(requests).toEqual([]);
  });

  it('takes documents of allowed people only', async () => {
    const { client, message } = setup();
    const media = { kind: 'document' as const, mimeType: 'text/plain' };
    expect(await client.takesFile(message('', { media }))).toBe(true);
    expect(await client.takesFile(message('', { media: { ...media, kind: 'image' } }))).toBe(false);
    expect(await client.takesFile(message('', { media, from: '1@s.whatsapp.net' }))).toBe(false);
  });

  it('shows what a message would do, and asks the runtime nothing', async () => {
    const { url, client, message, requests } = setup();
    expect(await client.preview(message('rm -rf /'), url)).toEqual({
      ...{ kind: 'shell', url, isAllowed: true, does: 'command', asksFirst: true },
    });
    expect(requests).toEqual([]);
  });

  it('says that a person may not use the shell before a pattern reads the words', async () => {
    const { url, client, message } = setup({ confirm: ['(\\w+\\s*)+--force$'] });
    const stranger = message('a'.repeat(42), { from: '1@s.whatsapp.net', channelId: '1' });
    expect(await client.preview(stranger, url)).toMatchObject({ isAllowed: false, asksFirst: false });
  });

  it('uses a container for each person and chat, and stops it with /reset', async () => {
    const used: HostedAgent[] = [];
    const stopped: string[] = [];
    let url = '';
    const hosting: Pick<AgentHost, 'use' | 'stop'> = {
      use: async (agent, work, options) => {
        used.push(agent);
        await options?.onSlowStart?.();
        return await work({ url, token: 'of the container' });
      },
      stop: async (agentId) => void stopped.push(agentId),
    };
    const settings = { image: 'wa2ai-shell:1', idleMinutes: 5, allow: [PERSON, '5490000000001'] };
    const { say, requests, url: container } = setup(settings, {}, { hosting });
    url = container;
    const notices: string[] = [];
    expect((await say('ls', {}, { notify: async (text) => void notices.push(text) })).response).toBe(
      '```ran ls```',
    );
    await say('ls', { from: '5490000000001@s.whatsapp.net' });
    await say('ls', { channelId: '5490000000001' });
    await say('/reset');
    const ids = used.map(({ agentId }) => agentId);
    expect(ids[3]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^shell-ab12-rou-[0-9a-f]{12}$/);
    expect(used[0]).toMatchObject({ idleMs: 300_000, accountId: 'default', routeId: 'AB12-route' });
    expect(stopped).toEqual([ids[0]]);
    expect(notices).toHaveLength(1);
    expect(requests.some(({ path }) => path === '/close_session')).toBe(true);
  });

  it('says that a program without an agent host runs no containers', async () => {
    const { say } = setup({ image: 'wa2ai-shell:1' });
    await expect(say('ls')).rejects.toMatchObject({ code: 'AGENT_PROTOCOL' });
  });
});
