import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('tools that send, protocol version %s', (version) => {
  it('searches, sends with an idempotency key, and shows the delivery', async () => {
    const { url, say, sent } = await startMcpFace();
    const { person, messageId } = await say('Where is my order?');
    const client = await mcpOverHttp(url, { version });
    expect((await toolData(client, 'search_messages', { text: 'ORDER' })).messages).toMatchObject([
      { id: messageId },
    ]);
    const message = { to: person.phone, text: 'On its way.', idempotency_key: 'order-1' };
    const first = await toolData(client, 'send_whatsapp_message', message);
    expect(await toolData(client, 'send_whatsapp_message', message)).toEqual(first);
    expect(sent()).toEqual(['On its way.']);
    expect(await toolError(client, 'send_whatsapp_message', { ...message, text: 'Other' })).toContain(
      'IDEMPOTENCY_CONFLICT',
    );
    expect(await toolData(client, 'get_delivery_status', { message_id: first.id })).toMatchObject({
      direction: 'outgoing',
      delivery: { state: 'queued' },
    });
    expect(await toolData(client, 'get_delivery_status', { message_id: messageId })).toMatchObject({
      direction: 'incoming',
      state: 'received',
      replies: [],
    });
  });
});
