import { describe, expect, it } from 'vitest';
import type { Scope } from '../../../router/src/core/access/scopes.ts';
import { ADMIN_KEY } from '../../support/http-api.ts';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { startMcpFace, untilAsleep } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('ask_person, protocol version %s', (version) => {
  it('asks a person, shows progress, and gets the answer in a second call by the handle', async () => {
    const face = await startMcpFace();
    const { chatId, person } = await face.say('hola');
    const client = await mcpOverHttp(face.url, { version });
    const shown: Array<{ progress: number; total?: number; message?: string }> = [];
    const asking = client.callTool(
      { name: 'ask_person', arguments: { to: person.phone, text: 'At 5 pm?', wait_seconds: 20 } },
      { onprogress: (progress) => void shown.push(progress) },
    );
    await expect.poll(() => face.sent()).toEqual([expect.stringContaining('At 5 pm?')]);
    await expect.poll(() => shown.length).toBeGreaterThan(0);
    await untilAsleep(face, 3);
    await face.clock.advanceMs(5_000);
    await expect.poll(() => shown.at(-1)).toMatchObject({ progress: 5, total: 20 });
    await face.clock.advanceMs(15_000);
    const waiting = (await asking).structuredContent as { status: string; handle: string };
    expect(waiting.status).toBe('waiting');
    expect(shown.map(({ message }) => message)).toContain('The question waits for the answer of the person.');

    const later = toolData(client, 'ask_person', { handle: waiting.handle });
    const { messageId } = await face.say('At six', person);
    await face.questions.answer(chatId, messageId);
    expect(await later).toMatchObject({ status: 'answered', answer: 'At six', handle: waiting.handle });
  });

  it('closes a question, keeps questions of other keys apart, and does not ask twice', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const { person } = await face.say('hola');
    const scopes: [Scope, ...Scope[]] = ['mcp', 'messages:send', 'messages:read'];
    const [one, other] = await Promise.all(
      ['a', 'b'].map(async () => {
        const headers = { 'x-api-key': await face.api.addKey({ scopes }) };
        return mcpOverHttp(face.url, { version, headers });
      }),
    );
    if (!one || !other) throw new Error('there are two clients');
    const ask = { to: person.phone, text: 'At 5 pm?', wait_seconds: 0, idempotency_key: 'k' };
    const asked = await toolData(one, 'ask_person', ask);
    expect((await toolData(one, 'ask_person', ask)).handle).toBe(asked.handle);
    expect(await toolError(one, 'ask_person', { ...ask, text: 'Other' })).toContain('IDEMPOTENCY_CONFLICT');
    expect(await toolError(other, 'ask_person', { handle: asked.handle })).toContain('NOT_FOUND');
    expect(await toolData(one, 'ask_person', { handle: asked.handle, cancel: true })).toMatchObject({
      status: 'canceled',
    });
    for (const wrong of [
      {},
      { to: person.phone },
      { handle: 'x', text: 'y' },
      { to: person.phone, text: 'x', cancel: true },
      { to: person.phone, text: 'x', idempotency_key: 'two words' },
      { to: '120363000000000042@g.us', text: 'x' },
    ]) {
      expect(await toolError(one, 'ask_person', wrong)).toContain('INVALID_BODY');
    }
  });

  it('ends a wait that the client cancels, and leaves the question open', async () => {
    const face = await startMcpFace();
    const { chatId, person } = await face.say('hola');
    const client = await mcpOverHttp(face.url, { version });
    const canceled = new AbortController();
    const waits = [
      client.callTool({ name: 'wait_for_message', arguments: { chat: chatId } }, { signal: canceled.signal }),
      client.callTool(
        { name: 'ask_person', arguments: { to: person.phone, text: 'At 5 pm?', idempotency_key: 'k' } },
        { signal: canceled.signal },
      ),
    ];
    await expect.poll(() => face.sent()).toHaveLength(1);
    canceled.abort();
    for (const wait of waits) await expect(wait).rejects.toThrow();
    await expect
      .poll(() => face.events.map(({ action, outcome }) => `${action} ${outcome}`).sort())
      .toEqual(['ask_person CANCELED', 'wait_for_message CANCELED']);
    const asked = { to: person.phone, text: 'At 5 pm?', idempotency_key: 'k', wait_seconds: 0 };
    expect(await toolData(client, 'ask_person', asked)).toMatchObject({ status: 'waiting' });
  });
});
