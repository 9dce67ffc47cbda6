import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolError } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('a mistake of a caller, protocol version %s', (version) => {
  it.each([
    ['search_messages', { limit: 0 }, 'text is missing. limit must be at least 1. (INVALID_BODY)'],
    ['list_chats', { limits: 1 }, 'limits is not a known field, perhaps you mean limit. (INVALID_BODY)'],
    ['list_chats', { cursor: 'zzz' }, 'cursor must be `next` of the page before. (INVALID_QUERY)'],
    // What the REST API finds, in the names of the arguments.
    ['set_route', { channel: '*' }, 'config is missing. agent_endpoint is missing. (INVALID_BODY)'],
    ['list_chats', { account_id: 'no such' }, /^account_id .*INVALID_QUERY/],
    [
      'explain_route',
      { text: 'hi' },
      'channel is missing; name the chat, or the person as from. (INVALID_BODY)',
    ],
  ])('of %s with %j is a result with a sentence', async (name, given, sentence) => {
    const { url } = await startMcpFace();
    const client = await mcpOverHttp(url, { version });
    expect(await toolError(client, name, given)).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
  });
});
