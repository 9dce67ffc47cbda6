import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolData } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('the prompts, protocol version %s', (version) => {
  it('has prompts for the triage of dead letters', async () => {
    const { url, say, inbox } = await startMcpFace();
    const { messageId } = await say('hola');
    await inbox.finishTurn(messageId, {
      state: 'dead',
      reason: 'AGENT_TIMEOUT',
      error: 'Late.',
      replies: [],
    });
    const client = await mcpOverHttp(url, { version });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['triage_dead_letters', 'explain_dead_letter']);
    const triage = JSON.stringify(await client.getPrompt({ name: 'triage_dead_letters' }));
    expect(triage).toContain('AGENT_TIMEOUT');
    expect(triage).toContain('Replay nothing');
    const other = await client.getPrompt({ name: 'triage_dead_letters', arguments: { reason: 'OTHER' } });
    expect(JSON.stringify(other)).not.toContain('AGENT_TIMEOUT');
    const { deadLetters } = await toolData(client, 'list_dead_letters');
    const { id } = deadLetters[0];
    expect(
      JSON.stringify(await client.getPrompt({ name: 'explain_dead_letter', arguments: { id } })),
    ).toContain('Late.');
    const wrong: Array<Record<string, string>> = [{}, { id: '999999' }];
    for (const given of wrong) {
      await expect(client.getPrompt({ name: 'explain_dead_letter', arguments: given })).rejects.toThrow();
    }
    await expect(client.getPrompt({ name: 'other' })).rejects.toThrow('Unknown prompt');
  });
});
