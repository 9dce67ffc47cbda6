import { describe, expect, it } from 'vitest';
import { openAiKind } from '../../../../../router/src/infra/agents/openai/openai-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { startOpenAiServer } from '../../../../doubles/openai-server.ts';
import { aMessage } from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

describe('openAiKind', () => {
  it('sends requests to baseUrl, else to the endpoint of the route', () => {
    expect(openAiKind.endpointOf('http://a', { model: 'm' })).toBe('http://a');
    expect(openAiKind.endpointOf('http://a', { model: 'm', baseUrl: 'http://b' })).toBe('http://b');
  });

  it.each([undefined, 'responses'] as const)(
    'makes clients that a server with the checks of the API %s answers',
    async (api) => {
      const server = await startOpenAiServer({ apiKey: 'sk-1' });
      const deps = {
        defaultTimeoutMs: () => 5_000,
        log: quietLog,
        clock: new FakeClock(),
        transport: new AgentTransport(),
      };
      const settings = {
        model: 'gpt-test',
        apiKey: 'sk-1',
        system: 'Be kind.',
        maxTokens: 20,
        temperature: 1,
        images: true,
        api,
      };
      const message = aMessage({ media: { kind: 'image', mimeType: 'image/png' } });
      const loadMedia = async () => new Uint8Array([1]);
      const loadHistory = async () => [
        { sender: '1', kind: 'text' as const, text: 'one', replies: [{ text: 'two' }] },
      ];
      const answer = await openAiKind
        .client(deps)(settings, { id: 'r1', accountId: 'default' })
        .sendMessage(server.url, message, { loadMedia, loadHistory });
      expect(answer.response).toBe('Echo: Hello [picture]');
      await server.close();
    },
  );
});
