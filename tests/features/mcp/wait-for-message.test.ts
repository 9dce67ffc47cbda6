import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolData } from '../../support/mcp-client.ts';
import { startMcpFace, untilAsleep } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('wait_for_message, protocol version %s', (version) => {
  it('waits for messages of a chat, without gaps and without those of other chats', async () => {
    const face = await startMcpFace();
    const { chatId, person } = await face.say('first');
    const client = await mcpOverHttp(face.url, { version });
    const waiting = toolData(client, 'wait_for_message', { chat: chatId });
    await untilAsleep(face, 3);
    await face.say('elsewhere');
    await face.say('second', person);
    await face.say('third', person);
    await face.clock.advanceMs(1_000);
    const received = await waiting;
    expect(received.status).toBe('received');
    expect(received.messages.map(({ text }: { text: string }) => text)).toEqual(['second', 'third']);
    const none = toolData(client, 'wait_for_message', {
      chat: chatId,
      after: received.after,
      wait_seconds: 2,
    });
    await untilAsleep(face, 3);
    await face.clock.advanceMs(2_000);
    expect(await none).toMatchObject({ status: 'waiting', messages: [], after: received.after });
    // Nobody waits: nothing is read any more.
    await expect.poll(() => face.clock.sleeping).toBe(0);
  });
});
