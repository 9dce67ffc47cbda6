import { describe, expect, it } from 'vitest';
import { npcKind } from '../../../../../router/src/infra/agents/npc/npc-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { toolsOf } from '../../../../support/agent-kinds.ts';
import { npcDouble } from '../../../../support/npc.ts';

const npcTools = toolsOf(npcKind);

const inputOf = (url: string, options: Record<string, string> = {}) => ({
  url,
  options,
  timeoutMs: 5_000,
  transport: new AgentTransport(),
  clock: holdingClock,
});

describe('the tools for NPC agents', () => {
  it('detect an agent by its card', async () => {
    const agent = await npcDouble();
    const bare = await npcDouble({ card: null });
    expect(await npcTools.detect(inputOf(agent.url))).toBe(true);
    expect(await npcTools.detect(inputOf(bare.url))).toBe(false);
    expect(await npcTools.detect(inputOf('http://127.0.0.1:1'))).toBe(false);
  });

  it('inspect shows the card and a route', async () => {
    const agent = await npcDouble();
    const { report, text, isGood } = await npcTools.inspect.run(inputOf(agent.url, { key: 'secret-key' }));
    expect(isGood).toBe(true);
    expect(report).toMatchObject({
      kind: 'npc',
      version: '1.0.0',
      route: { channelId: '*', agentEndpoint: agent.url, config: { npc: { apiKey: '<the API key>' } } },
    });
    expect(text).toContain('capabilities  duel, quest, trade, social, emotion, memory');
    expect(text).toContain(`calls         ${agent.url}/rpc`);
    expect(text).not.toContain('secret-key');
  });

  it('test sends one message', async () => {
    const agent = await npcDouble();
    const { text } = await npcTools.test.run(inputOf(agent.url, { message: 'hello' }));
    expect(text).toMatch(/^\d+ ms\necho: hello$/);
    await expect(npcTools.test.run(inputOf(agent.url))).rejects.toThrow('--message is missing');
  });

  it('check passes an agent to the specification, and finds what another one lacks', async () => {
    const agent = await npcDouble({ apiKey: 'right-key' });
    const good = await npcTools.check.run(inputOf(agent.url, { key: 'right-key' }));
    expect(good.text).toMatch(/The agent conforms\.$/);
    const wrong = await npcTools.check.run(inputOf(agent.url, { key: 'wrong-key' }));
    expect(wrong.isGood).toBe(false);
    expect(wrong.text).not.toContain('wrong-key');
  });
});
