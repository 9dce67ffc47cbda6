import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import type { LogLine } from '../support/wa2ai-process.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env: { WA2AI_PROCESS_AGENTS: 'on' } });
});

afterAll(() => bed.close());

/** A person with a route to an example that wa2ai runs as a process, and stops after 0.6 seconds without work. */
async function personWith(profile: string, file: string, options?: Record<string, unknown>) {
  const person = bed.person();
  const command = [process.execPath, join(repositoryRoot, 'examples/agents', file)];
  const hosted = { runtime: 'process', profile, command, idleMinutes: 0.01, ...(options && { options }) };
  await bed.service.addRoute(person.phone, undefined, { config: { adk: undefined, hosted } });
  return {
    say: async (text: string) => {
      await person.say(text, { to: bed.phone });
      return (await person.nextReply(60_000)).text;
    },
    /** Resolves after the first stop of the agent that answered last. */
    untilStopped: () => {
      const ready = bed.service.lines.findLast(({ msg }) => msg === 'hosted agent ready');
      const isStop = ({ msg, agentId }: LogLine) =>
        msg === 'hosted agent stopped' && agentId === ready?.agentId;
      return bed.service.untilLog(isStop, 60_000);
    },
  };
}

describe('the example agents, which wa2ai runs for a person', () => {
  it('adk keeps the session of its person while it does not run', async () => {
    const ana = await personWith('adk', 'adk/agent.js');
    expect(await ana.say('good morning')).toMatch(/^Hello.*! You said: good morning$/);
    await ana.untilStopped();
    expect(await ana.say('and again')).toMatch(/^Message 2.*: and again$/);
  });

  it('abi is called by the functions of its manifest', async () => {
    const bo = await personWith('abi', 'abi/server.js');
    expect(await bo.say('/convert 3 km m')).toBe('3 km = 3000 m');
    await bo.untilStopped();
    expect(await bo.say('/convert 2 m cm')).toBe('2 m = 200 cm');
  });
});
