import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { TestBed } from '../support/test-bed.ts';
import type { LogLine } from '../support/wa2ai-process.ts';
import { engineUnderTest } from './engine-under-test.ts';

const { kind, address } = engineUnderTest();
const engine = new DockerEngine({ address });
const folder = mkdtempSync(join(tmpdir(), 'wa2ai-hosted-'));
const env = { WA2AI_CONTAINER_ENGINE: address, WA2AI_DATA_DIR: folder };
let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env });
});

afterAll(async () => {
  await bed.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Ids of the containers of this service that exist. */
async function containers(): Promise<string[]> {
  return (await engine.list({ 'wa2ai.host': 'e2e' })).map(({ id }) => id).sort();
}

describe(`a person who writes to an agent that wa2ai runs with ${kind}`, () => {
  it('wakes its container, which idles out, and remembers her when she writes again', async () => {
    const ana = bed.person();
    // 3 seconds
    const hosted = { image: 'chat-node:test', idleMinutes: 0.05 };
    await bed.service.addRoute(ana.phone, undefined, { config: { adk: undefined, hosted } });
    await ana.say('my name is Ana', { to: bed.phone });
    expect((await ana.nextReply(60_000)).text).toBe('Nice to meet you, Ana.');
    await bed.service.untilLog((line) => line.msg === 'hosted agent stopped', 60_000);
    await ana.say('who am I', { to: bed.phone });
    expect((await ana.nextReply(60_000)).text).toBe('You are Ana.');
  });

  it('keeps her container when wa2ai is killed, and gets no second one', async () => {
    const bo = bed.person();
    const hosted = { image: 'chat-node:test' };
    await bed.service.addRoute(bo.phone, undefined, { config: { adk: undefined, hosted } });
    await bo.say('my name is Bo', { to: bed.phone });
    expect((await bo.nextReply(60_000)).text).toBe('Nice to meet you, Bo.');
    const before = await containers();
    await bed.service.end('SIGKILL');
    expect(await containers()).toEqual(before);
    await bed.restartService(env);
    await bed.service.untilLog((line) => line.msg === 'hosted agent adopted', 60_000);
    await bo.say('who am I', { to: bed.phone });
    expect((await bo.nextReply(60_000)).text).toBe('You are Bo.');
    expect(await containers()).toEqual(before);
  });
});

/** Id of the agent of a route. Its log lines may come after its answer. */
async function agentOf(routeId: string): Promise<string> {
  const { body } = await bed.service.api('GET', `/api/agents?routeId=${routeId}`);
  const [agent] = body.data as Array<{ id: string }>;
  if (!agent) throw new Error('the route has no agent');
  return agent.id;
}

/** A person with a route to the image of an example, which stops after 3 seconds without work. */
async function personWith(hosted: { image: string; profile?: string }) {
  const person = bed.person();
  const config = { adk: undefined, hosted: { ...hosted, idleMinutes: 0.05 } };
  const from = bed.service.lines.length;
  const { id: routeId } = await bed.service.addRoute(person.phone, undefined, { config });
  return {
    say: async (text: string) => {
      await person.say(text, { to: bed.phone });
      return (await person.nextReply(60_000)).text;
    },
    /** Resolves when the agent of the person has stopped; returns its id. */
    untilStopped: async () => {
      const id = await agentOf(routeId);
      const isStop = ({ msg, agentId }: LogLine) => msg === 'hosted agent stopped' && agentId === id;
      await bed.service.untilLog(isStop, 60_000, from);
      return id;
    },
  };
}

describe(`the images of the examples, which wa2ai runs with ${kind}`, () => {
  it('adk keeps the session of its person while its container does not run', async () => {
    const { say, untilStopped } = await personWith({ image: 'adk:test', profile: 'adk' });
    expect(await say('good morning')).toMatch(/^Hello.*! You said: good morning$/);
    await untilStopped();
    expect(await say('and again')).toMatch(/^Message 2.*: and again$/);
  });

  it('abi is called on port 80 by the functions of its manifest', async () => {
    const { say, untilStopped } = await personWith({ image: 'abi:test', profile: 'abi' });
    expect(await say('/convert 3 km m')).toBe('3 km = 3000 m');
    await untilStopped();
    expect(await say('/convert 2 m cm')).toBe('2 m = 200 cm');
  });

  it('strands-python remembers its person after it idled out, and shows no calls of tools', async () => {
    const { say, untilStopped } = await personWith({ image: 'strands-python:test' });
    expect(await say('my name is Zoë')).toBe('Nice to meet you, Zoë.');
    expect(await say('use a tool')).toBe('You said: use a tool');
    const agentId = await untilStopped();
    expect(await say('who am I')).toBe('You are Zoë.');
    // programs have a conversation of their own with it
    const path = `/api/agents/${agentId}/messages`;
    const sent = await bed.service.api('POST', path, { text: 'use a tool', waitSeconds: 60 });
    expect(sent.body).toMatchObject({ data: { response: 'You said: use a tool' } });
    const { body } = await bed.service.api('GET', `${path}?limit=9`);
    expect(body.data).toEqual([
      { role: 'user', content: 'use a tool' },
      { role: 'assistant', content: 'You said: use a tool' },
    ]);
  });

  it('strands-python refuses programs without its token, and repeats its answer to a repeated message', async () => {
    const person = bed.person();
    const config = { adk: undefined, hosted: { image: 'strands-python:test' } };
    const { id: routeId } = await bed.service.addRoute(person.phone, undefined, { config });
    await person.say('my name is Eva', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Nice to meet you, Eva.');
    const agentId = await agentOf(routeId);
    const [container] = await engine.list({ 'wa2ai.host': 'e2e', 'wa2ai.agent': agentId });
    const url = `http://${container?.address?.host}:${container?.address?.port}`;
    const token = readFileSync(join(folder, 'agent-tokens', agentId), 'utf8').trim();
    const asked = (path: string, key: string, body?: object) =>
      fetch(`${url}${path}`, {
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
    for (const key of ['', 'wrong', `${token}x`]) expect((await asked('/health', key)).status).toBe(401);
    expect((await asked('/chat', 'wrong', { message: 'hello' })).status).toBe(401);
    const chat = { message: 'hello', session_id: 'repeats', message_id: 'm1' };
    const answers = [await asked('/chat', token, chat), await asked('/chat', token, chat)];
    for (const answer of answers) expect(await answer.json()).toEqual({ response: 'You said: hello' });
    const history = await asked('/history?session_id=repeats', token);
    expect(await history.json()).toEqual({
      messages: [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'You said: hello' },
      ],
    });
  });
});
