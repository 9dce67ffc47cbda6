import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptStore } from '../../router/src/core/agent-client.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import type { AuditEvent } from '../../router/src/core/ports/audit-log.ts';
import type { AgentSession } from '../../router/src/core/tasks.ts';
import { ShellAgentClient } from '../../router/src/infra/agents/shell/shell-agent-client.ts';
import type { ShellSettings } from '../../router/src/infra/agents/shell/shell-settings.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { directMatcher } from '../doubles/direct-matcher.ts';
import { quietLog } from '../support/quiet-log.ts';
import { type RunningRuntime, startRuntime } from '../support/shell-runtime.ts';

const PERSON = '5493777239922';

const transports = { transport: new AgentTransport() };

let runtime: RunningRuntime;
let folder: string;
let numbers = 0;
const nextNumber = () => {
  numbers += 1;
  return numbers;
};

beforeAll(async () => {
  runtime = await startRuntime(true);
});

afterAll(() => runtime.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shell-agents-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** A person in a new session, whose turns wait for a command until `giveUp`. */
function setup(more: Partial<ShellSettings> = {}) {
  const chat = `${PERSON.slice(0, -3)}${String(nextNumber()).padStart(3, '0')}`;
  const events: AuditEvent[] = [];
  const tasks: string[] = [];
  let session: AgentSession | undefined;
  let giveUp: () => void = () => undefined;
  const given = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  const store: AttemptStore = {
    tasks: async () => [],
    addTask: async (id) => void tasks.push(id),
    chatTasks: async () => [],
    knownTasks: async () => [],
    session: async () => session,
    saveSession: async (saved) => {
      session = saved;
    },
  };
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) => (ms === 4_000 ? given : systemClock.sleep(ms, signal)),
  };
  const settings = { allow: [chat], token: runtime.token, cwd: folder, ...more };
  const audit = { append: async (added: readonly AuditEvent[]) => void events.push(...added) };
  // a new client for each message: everything that lasts is in the store and in the runtime
  const client = () =>
    new ShellAgentClient(
      { defaultTimeoutMs: () => 30_000, matcher: directMatcher, log: quietLog, clock, ...transports, audit },
      settings,
      {
        id: 'route-1',
        accountId: 'default',
      },
    );
  const message = (text: string, fields: Partial<IncomingMessage> = {}): IncomingMessage => ({
    ...{
      id: `M${nextNumber()}`,
      from: `${chat}@s.whatsapp.net`,
      channelId: chat,
      text,
      timestamp: new Date(0),
    },
    ...fields,
  });
  const send = (sent: IncomingMessage, options: object = {}) =>
    client().sendMessage(runtime.url, sent, { store, ...options });
  const say = async (text: string, fields?: Partial<IncomingMessage>, options?: object) =>
    send(message(text, fields), options);
  const follow = (remoteId: string, sent: IncomingMessage) =>
    client().followTask(runtime.url, { remoteId, message: sent }, { signal: new AbortController().signal });
  return { say, send, message, follow, giveUp, tasks, events };
}

describe('a shell for people', () => {
  it('runs commands in a session that keeps its folder and variables', async () => {
    const { say } = setup({ env: { WORD: "it's" } });
    expect((await say('pwd; echo "$WORD"')).response).toBe(`\`\`\`${folder}\nit's\`\`\``);
    expect((await say('X=5; mkdir in; cd in')).response).toBe('(no output)');
    expect((await say('echo $X; pwd; false')).response).toBe(`\`\`\`5\n${folder}/in\`\`\`\nexit code 1`);
    expect((await say("echo 'open")).response).toContain('unexpected EOF');
    expect((await say('exit 4')).response).toContain('The next command starts a new one.');
    expect((await say('echo $X-; pwd')).response).toBe(`\`\`\`-\n${folder}\`\`\``);
  });

  it('refuses people who are not allowed, and runs nothing for them', async () => {
    const { say, events } = setup({ allow: ['5490000000000'] });
    expect((await say(`touch ${folder}/by-stranger`)).response).toBe('You may not use this shell.');
    expect(existsSync(`${folder}/by-stranger`)).toBe(false);
    expect(events).toMatchObject([{ action: 'shellRefused', outcome: 'FORBIDDEN', caller: 'person' }]);
  });

  it('does not run an edited message', async () => {
    const { say } = setup();
    expect((await say(`touch ${folder}/edited`, { editOf: 'M0' })).response).toContain('is not run');
    expect(existsSync(`${folder}/edited`)).toBe(false);
  });

  it('asks before a dangerous command, also after a restart', async () => {
    const { say } = setup();
    writeFileSync(`${folder}/file`, 'x');
    expect((await say('rm -rf file')).response).toContain('Run it? Answer yes or no.');
    expect((await say('no')).response).toBe('The command was not run.');
    expect(existsSync(`${folder}/file`)).toBe(true);
    await say('rm -rf file');
    expect((await say('yes')).response).toBe('(no output)');
    expect(existsSync(`${folder}/file`)).toBe(false);
  });

  it('records every command before it runs, without its text', async () => {
    const { say, events } = setup();
    await say('echo secret; (exit 3)');
    expect(events.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['shellCommand', 'begun'],
      ['shellCommand', 'exit 3'],
    ]);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it('runs no command that cannot be recorded', async () => {
    const { client, message } = refusing();
    await expect(client.sendMessage(runtime.url, message)).rejects.toThrow('no audit log');
    expect(existsSync(`${folder}/unrecorded`)).toBe(false);
  });

  it('turns a long command into a task, which the chat can interrupt', async () => {
    const { send, say, message, follow, giveUp, tasks } = setup();
    const long = message('echo begun; touch begun; sleep 1000');
    const sending = send(long);
    await expect.poll(() => existsSync(`${folder}/begun`)).toBe(true);
    giveUp();
    const answer = await sending;
    expect(answer.response).toContain('/interrupt stops it');
    expect(tasks).toEqual([answer.task?.remoteId]);
    const report = follow(tasks[0] ?? '', long);
    expect((await say('/interrupt')).response).toBe('Interrupted.');
    expect(await report).toMatchObject({
      kind: 'end',
      response: { response: expect.stringMatching(/^```begun[\s\S]*exit code 130$/) },
    });
  });

  it('reports the result of a long command once more after a crash of wa2ai, and does not run it twice', async () => {
    const { send, message, follow } = setup();
    const sent = message('echo x >> count; wc -l < count');
    const first = await send(sent);
    expect(first.response).toBe('```1```');
    expect((await send(sent, { isRepeat: true })).response).toBe('```1```');
    const unknown = message('echo y >> count');
    await expect(send(unknown, { isRepeat: true })).rejects.toMatchObject({ code: 'AGENT_UNCERTAIN' });
    await expect(follow('not-known', sent)).rejects.toMatchObject({ code: 'SHELL_RESTARTED' });
    expect(readFileSync(`${folder}/count`, 'utf8')).toBe('x\n');
  });

  it('interrupts a command after the time limit of the route', async () => {
    const { say } = setup({ timeoutMs: 500 });
    const { response } = await say('sleep 1000');
    expect(response).toMatch(/Interrupted after \d+ s\.$/);
  });

  it('lists and sends files, stores documents, and resets the session', async () => {
    const { say } = setup();
    const media = { kind: 'document' as const, mimeType: 'text/plain', fileName: '../../notes.txt' };
    const bytes = Buffer.from([0, 13, 10, 255]);
    const stored = await say('', { media }, { loadMedia: async () => bytes });
    expect(stored.response).toBe(`Stored 4 bytes in ${folder}/notes.txt`);
    expect((await say('/files')).response).toContain('notes.txt');
    expect((await say('/get notes.txt')).files).toEqual([
      { kind: 'document', mimeType: 'application/octet-stream', fileName: 'notes.txt', bytes },
    ]);
    expect((await say('/get none.txt')).response).toContain('no such file');
    await say('X=5');
    expect((await say('/reset')).response).toContain('The session has ended');
    expect((await say('echo $X-')).response).toBe('```-```');
    expect((await say('/help')).response).toContain('/interrupt');
  });

  it('sends long output as a document', async () => {
    const { say } = setup({ maxOutputChars: 100 });
    const { response, files = [] } = await say('seq 1 1000');
    expect(response).toContain('characters, all in the document');
    expect(Buffer.from(files[0]?.bytes ?? []).toString()).toMatch(/^1\n2\n[\s\S]*\n1000$/);
  });
});

function refusing() {
  const audit = { append: () => Promise.reject(new Error('no audit log')) };
  const client = new ShellAgentClient(
    {
      defaultTimeoutMs: () => 30_000,
      matcher: directMatcher,
      log: quietLog,
      clock: systemClock,
      ...transports,
      audit,
    },
    { allow: [PERSON], token: runtime.token },
    { id: 'route-1', accountId: 'default' },
  );
  const text = `touch ${folder}/unrecorded`;
  const message = {
    id: 'M',
    from: `${PERSON}@s.whatsapp.net`,
    channelId: PERSON,
    text,
    timestamp: new Date(0),
  };
  return { client, message };
}
