import { describe, expect, it } from 'vitest';
import { a2aKind } from '../../../../../router/src/infra/agents/a2a/a2a-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { a2aDouble } from '../../../../support/a2a.ts';
import { toolsOf } from '../../../../support/agent-kinds.ts';
import { npcDouble } from '../../../../support/npc.ts';

const a2aTools = toolsOf(a2aKind);

const inputOf = (url: string, options: Record<string, string> = {}) => ({
  url,
  options,
  timeoutMs: 5_000,
  transport: new AgentTransport(),
  clock: holdingClock,
});

describe('the tools for A2A agents', () => {
  it('detect an agent of either version by its card, and no agent of another kind', async () => {
    for (const version of ['1.0', '0.3'] as const) {
      expect(await a2aTools.detect(inputOf((await a2aDouble({ version })).url))).toBe(true);
    }
    expect(await a2aTools.detect(inputOf((await npcDouble()).url))).toBe(false);
    expect(await a2aTools.detect(inputOf('http://127.0.0.1:1'))).toBe(false);
  });

  it('inspect shows version, skills and a route', async () => {
    const agent = await a2aDouble({ apiKey: 'secret-key' });
    const { report, text, isGood } = await a2aTools.inspect.run(inputOf(agent.url, { key: 'secret-key' }));
    expect(isGood).toBe(true);
    expect(report).toMatchObject({
      kind: 'a2a',
      version: '1.0 JSONRPC',
      capabilities: ['streaming', 'skill echo'],
      route: { agentEndpoint: agent.url, config: { a2a: { apiKey: '<the API key>' } } },
    });
    expect(text).not.toContain('secret-key');
  });

  it('test sends one message', async () => {
    const agent = await a2aDouble();
    const { text } = await a2aTools.test.run(inputOf(agent.url, { message: 'hello' }));
    expect(text).toMatch(/^\d+ ms\necho: hello$/);
    await expect(a2aTools.test.run(inputOf(agent.url))).rejects.toThrow('--message is missing');
    await expect(a2aTools.inspect.run(inputOf(agent.url, { 'a2a-version': '2' }))).rejects.toThrow(
      'must be 1.0 or 0.3',
    );
  });

  it('check passes an agent that works, and finds what fails', async () => {
    const agent = await a2aDouble();
    expect((await a2aTools.check.run(inputOf(agent.url))).text).toMatch(/The agent conforms\.$/);
    const bare = await a2aDouble({ card: null });
    expect((await a2aTools.check.run(inputOf(bare.url))).isGood).toBe(false);
    const closed = await a2aDouble({ apiKey: 'right' });
    expect((await a2aTools.check.run(inputOf(closed.url, { key: 'wrong-key' }))).isGood).toBe(false);
  });
});
