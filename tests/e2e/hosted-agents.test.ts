import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';

const SERVER = join(repositoryRoot, 'examples/agents/chat-node/server.js');

let bed: TestBed;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-hosted-'));
  // Where wa2ai is root, the agents have users of their own.
  chmodSync(folder, 0o711);
  env = { WA2AI_DATA_DIR: folder, WA2AI_PROCESS_AGENTS: 'on' };
  bed = await TestBed.startPaired({ env });
});

afterAll(async () => {
  await bed.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a person who writes to an agent that wa2ai runs as a process', () => {
  const hosted = { runtime: 'process', command: [process.execPath, SERVER] };

  it('keeps her agent when wa2ai is killed, and gets no second one', async () => {
    const dan = bed.person();
    await bed.service.addRoute(dan.phone, undefined, { config: { adk: undefined, hosted } });
    await dan.say('my name is Dan', { to: bed.phone });
    expect((await dan.nextReply()).text).toBe('Nice to meet you, Dan.');
    const before = processes();
    expect(before.filter(isRunning)).toHaveLength(1);
    await bed.service.end('SIGKILL');
    expect(before.filter(isRunning)).toHaveLength(1);
    await bed.restartService(env);
    await bed.service.untilLog((line) => line.msg === 'hosted agent adopted', 60_000);
    await dan.say('who am I', { to: bed.phone });
    expect((await dan.nextReply()).text).toBe('You are Dan.');
    expect(processes()).toEqual(before);
  });

  it('gets its answers, also after it idled out, and it remembers her', async () => {
    const ana = bed.person();
    // 0.6 seconds
    const config = { adk: undefined, hosted: { ...hosted, idleMinutes: 0.01 } };
    await bed.service.addRoute(ana.phone, undefined, { config });
    await ana.say('my name is Ana', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Nice to meet you, Ana.');
    await bed.service.untilLog((line) => line.msg === 'hosted agent stopped', 60_000);
    await ana.say('who am I', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('You are Ana.');
  });

  it('has an agent that other people do not share', async () => {
    const [bo, cy] = [bed.person(), bed.person()];
    for (const person of [bo, cy]) {
      await bed.service.addRoute(person.phone, undefined, { config: { adk: undefined, hosted } });
    }
    await bo.say('my name is Bo', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('Nice to meet you, Bo.');
    await cy.say('who am I', { to: bed.phone });
    expect((await cy.nextReply()).text).toBe('I do not know yet.');
  });
});

describe('a program that adds an agent', () => {
  it('talks to it by its id, reads its files, and deletes it', async () => {
    const { service } = bed;
    const hosted = { runtime: 'process', command: [process.execPath, SERVER] };
    const call = (method: string, path: string, body?: unknown) => service.api(method, path, body);
    expect((await call('POST', '/api/agents', { id: 'helper', hosted })).status).toBe(201);
    await call('POST', '/api/agents/helper/messages', { message: 'my name is Ana' });
    const { body } = await call('POST', '/api/agents/helper/messages', { message: 'who am I' });
    expect(body.data).toMatchObject({ response: 'You are Ana.' });
    const history = await call('GET', '/api/agents/helper/messages?count=1');
    expect(history.body.data).toEqual([{ role: 'assistant', content: 'You are Ana.' }]);
    const files = await call('GET', '/api/agents/helper/files');
    expect(files.body.data).toMatchObject([{ path: 'session.json' }]);
    const shown = await call('GET', '/api/agents/helper');
    expect(shown.body.data).toMatchObject({ status: 'idle', isolation: 'none' });
    expect((await call('DELETE', '/api/agents/helper')).status).toBe(200);
    expect((await call('GET', '/api/agents/helper')).status).toBe(404);
  });
});

it('agents end with a service that is stopped', async () => {
  const running = processes().filter(isRunning);
  expect(running.length).toBeGreaterThan(0);
  await bed.service.end();
  expect(running.filter(isRunning)).toEqual([]);
});

/** Ids of the processes of agents, of those that ended too. */
function processes(): number[] {
  const records = readdirSync(join(folder, 'agent-processes')).filter((name) => name.endsWith('.json'));
  const read = (name: string) => JSON.parse(readFileSync(join(folder, 'agent-processes', name), 'utf8'));
  return records.flatMap((name) => read(name).pid ?? []).sort();
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
