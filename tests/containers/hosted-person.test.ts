import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DockerEngine } from '../../router/src/infra/hosting/docker/docker-engine.ts';
import { TestBed } from '../support/test-bed.ts';
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
