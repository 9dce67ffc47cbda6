import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { engineUnderTest } from './engine-under-test.ts';

const { kind, address } = engineUnderTest();
let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env: { WA2AI_CONTAINER_ENGINE: address } });
});

afterAll(async () => {
  await bed.close();
});

describe(`a person who writes to a shell that wa2ai runs with ${kind}`, () => {
  it('runs commands in a container, which idles out and starts again with her files', async () => {
    const ana = bed.person();
    const say = async (text: string) => {
      await ana.say(text, { to: bed.phone });
      return (await ana.nextReply(60_000)).text;
    };
    // 3 seconds
    const shell = { image: 'wa2ai-shell:test', allow: [ana.phone], idleMinutes: 0.05 };
    await bed.service.addRoute(ana.phone, undefined, { config: { adk: undefined, shell } });
    expect(await say('echo kept > file; id -un')).toBe('```node```');
    await bed.service.untilLog((line) => line.msg === 'hosted agent stopped', 60_000);
    expect(await say('cat file')).toBe('```kept```');
  });

  it('refuses everybody else, without a container', async () => {
    const bo = bed.person();
    const shell = { image: 'wa2ai-shell:test', allow: ['5490000000000'] };
    await bed.service.addRoute(bo.phone, undefined, { config: { adk: undefined, shell } });
    await bo.say('ls', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('You may not use this shell.');
  });
});
