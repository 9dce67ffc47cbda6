import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('tools for dead letters, protocol version %s', (version) => {
  it('lists accounts and dead letters, and replays one', async () => {
    const { url, say, inbox, api } = await startMcpFace();
    const { messageId } = await say('hola');
    await inbox.finishTurn(messageId, {
      state: 'dead',
      reason: 'AGENT_TIMEOUT',
      error: 'Late.',
      replies: [],
    });
    const client = await mcpOverHttp(url, { version });
    expect((await toolData(client, 'list_accounts')).accounts).toMatchObject([{ id: 'default' }]);
    const { deadLetters } = await toolData(client, 'list_dead_letters');
    expect(deadLetters).toMatchObject([{ messageId, reason: 'AGENT_TIMEOUT', text: 'hola', state: 'open' }]);
    // The API of the harness replays in its own memory, where there is none.
    expect(await toolError(client, 'replay_dead_letter', { dead_letter_id: deadLetters[0].id })).toContain(
      'NOT_FOUND',
    );
    expect(api.served).toEqual([]);
  });
});
