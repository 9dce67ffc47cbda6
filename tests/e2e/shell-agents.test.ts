import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRuntime, startRuntime } from '../support/shell-runtime.ts';
import { TestBed } from '../support/test-bed.ts';

const bed = TestBed.shared();
let runtime: RunningRuntime;
let folder: string;

beforeAll(async () => {
  runtime = await startRuntime(true);
  folder = mkdtempSync(join(tmpdir(), 'shell-e2e-'));
});

afterAll(async () => {
  await runtime.stop();
  rmSync(folder, { recursive: true });
});

/** A person with a route to the shell. */
async function personWithShell(allow?: string) {
  const person = bed.person();
  const shell = { allow: [allow ?? person.phone], token: runtime.token, cwd: folder };
  await bed.service.addRoute(person.phone, runtime.url, { config: { adk: undefined, shell } });
  const say = async (text: string) => {
    await person.say(text, { to: bed.phone });
    return (await person.nextReply()).text;
  };
  return { person, say };
}

describe('a person who writes to a shell', () => {
  it('runs commands, and confirms a dangerous one after a restart of wa2ai', async () => {
    const { say } = await personWithShell();
    expect(await say('echo hello; X=5')).toBe('```hello```');
    expect(await say('echo $X; false')).toBe('```5```\nexit code 1');
    writeFileSync(`${folder}/data`, 'x');
    expect(await say('rm -rf data')).toContain('Run it? Answer yes or no.');
    await bed.service.end('SIGKILL');
    await bed.restartService();
    expect(existsSync(`${folder}/data`)).toBe(true);
    expect(await say('yes')).toBe('(no output)');
    expect(existsSync(`${folder}/data`)).toBe(false);
  });

  it('interrupts a long command, and gets its output', async () => {
    const { person, say } = await personWithShell();
    await person.say(`touch ${folder}/long; echo begun; sleep 1000`, { to: bed.phone });
    expect((await person.nextReply()).text).toContain('/interrupt stops it');
    expect(existsSync(`${folder}/long`)).toBe(true);
    const replies = [await say('/interrupt'), (await person.nextReply()).text];
    expect(replies.some((text) => text === 'Interrupted.')).toBe(true);
    expect(replies.some((text) => /^```begun[\s\S]*exit code 130$/.test(text ?? ''))).toBe(true);
  });

  it('is refused when the route does not name the person', async () => {
    const { say } = await personWithShell('5490000000000');
    expect(await say(`touch ${folder}/by-stranger`)).toBe('You may not use this shell.');
    expect(existsSync(`${folder}/by-stranger`)).toBe(false);
  });
});
