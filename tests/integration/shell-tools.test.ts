import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellKind } from '../../router/src/infra/agents/shell/shell-kind.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { toolsOf } from '../support/agent-kinds.ts';
import { type RunningRuntime, startRuntime } from '../support/shell-runtime.ts';

const shellTools = toolsOf(shellKind);

let runtime: RunningRuntime;

beforeAll(async () => {
  runtime = await startRuntime(false);
});

afterAll(() => runtime.stop());

const inputOf = (options: Record<string, string> = {}, url = runtime.url) => ({
  url,
  options: { token: runtime.token, ...options },
  timeoutMs: 20_000,
  transport: new AgentTransport(),
  clock: holdingClock,
});

describe('the tools for shells', () => {
  it('detect a runtime, also without its token', async () => {
    expect(await shellTools.detect(inputOf())).toBe(true);
    expect(await shellTools.detect(inputOf({ token: 'another-token' }))).toBe(true);
    expect(await shellTools.detect(inputOf({}, 'http://127.0.0.1:1'))).toBe(false);
  });

  it('inspect shows a route for one person, without the token', async () => {
    const { report, text, isGood } = await shellTools.inspect.run(inputOf({ allow: '5493777239922' }));
    expect(isGood).toBe(true);
    expect(report).toMatchObject({
      kind: 'shell',
      route: {
        channelId: '5493777239922',
        agentEndpoint: runtime.url,
        config: { shell: { allow: ['5493777239922'], token: '<the token>' } },
      },
    });
    expect(text + JSON.stringify(report)).not.toContain(runtime.token);
  });

  it('test runs one command', async () => {
    const { text } = await shellTools.test.run(inputOf({ message: 'echo hello' }));
    expect(text).toMatch(/^\d+ ms, exit code 0\nhello/);
    await expect(shellTools.test.run(inputOf())).rejects.toThrow('--message is missing');
  });

  it('check passes a runtime, and stops where none answers', async () => {
    const { report, text } = await shellTools.check.run(inputOf());
    expect([report, text]).toEqual([expect.objectContaining({ isConforming: true }), expect.any(String)]);
    const none = await shellTools.check.run(inputOf({}, 'http://127.0.0.1:1'));
    expect(none).toMatchObject({ isGood: false, text: expect.stringContaining('no other check ran') });
  });
});
