import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StandInServer } from '../doubles/stand-in-server.ts';
import { AGENT_KIND_SUBJECTS } from '../support/agent-kind-subjects.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

/** Those with an address that somebody connects, and that answer everybody: a shell has a list of people. */
const SUBJECTS = AGENT_KIND_SUBJECTS.filter(({ name }) => name !== 'hosted' && name !== 'shell');

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(() => bed.close());

/** Runs the built command line; its output as JSON. */
async function wa2ai(verb: string, url: string, options: Record<string, string>) {
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const file = join(repositoryRoot, 'dist/service/cli.js');
  const child = spawn(process.execPath, [file, 'agent', verb, url, '--json', ...given]);
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, 'close');
  expect([code, errors]).toEqual([0, '']);
  return JSON.parse(output);
}

describe.each(SUBJECTS)('an agent of the kind $name that somebody wants to connect', (subject) => {
  const { name, start, options = {} } = subject;
  let server: StandInServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.close());

  it('is detected, and the body that inspect shows is a route that answers a person and a group', async () => {
    const shown = await wa2ai('inspect', server.url, options);
    expect(shown).toMatchObject({ kind: name, isReachable: true, latencyMs: expect.any(Number) });
    const [ana, bo] = [bed.person({ name: 'Ana' }), bed.person({ name: 'Bo' })];
    const group = createGroup(bed.emulator, { subject: name, members: [ana, bo, bed.phone] });
    for (const channelId of [ana.phone, group.jid]) {
      const added = await bed.service.api('POST', '/api/routes', { ...shown.route, channelId });
      expect(added).toMatchObject({ status: 201, body: { success: true } });
      expect(added.body.warnings ?? []).toEqual([]);
    }
    const said = name === 'abi' ? '/hello hello' : 'hello';
    await ana.say(said, { to: bed.phone });
    expect(await ana.nextReply()).toMatchObject({ text: expect.stringMatching(/hello/), chat: bed.phone.pn });
    await ana.say(said, { to: group });
    for (const member of [ana, bo]) {
      expect(await member.nextReply()).toMatchObject({
        text: expect.stringMatching(/hello/),
        chat: group.jid,
      });
    }
  });

  it('answers test, and passes check', async () => {
    const input: Record<string, string> =
      name === 'abi' ? { method: 'hello', input: '{"name":"hello"}' } : { message: 'hello' };
    const test = wa2ai('test', server.url, { ...options, ...input });
    // The stand-in has one function only; agent-cli.test.ts checks an agent with all those of the specification.
    const check = name === 'abi' ? undefined : wa2ai('check', server.url, options);
    expect(JSON.stringify(await test)).toContain('hello');
    if (check) expect(await check).toMatchObject({ isConforming: true });
  });
});
