import { describe, expect, it } from 'vitest';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { webhookFindings } from '../../../../../router/src/infra/agents/webhook/webhook-body.ts';
import { serverOf } from '../../../../support/abi.ts';

const deps = { transport: new AgentTransport(), signal: new AbortController().signal };

async function answering(status: number) {
  const methods: string[] = [];
  const { url } = await serverOf((request, response) => {
    methods.push(`${request.method} ${request.headers['x-key']}`);
    response.writeHead(status).end();
  });
  return { url, methods };
}

describe('the findings about a route to a webhook', () => {
  it.each([200, 404, 405, 500])(
    'are none for a server that answers %i, which gets no message',
    async (status) => {
      const { url, methods } = await answering(status);
      expect(await webhookFindings(url, { headers: { 'X-Key': 'k' } }, deps)).toEqual([]);
      expect(methods).toEqual(['HEAD k']);
    },
  );

  it('name the headers, or the address', async () => {
    const { url } = await answering(401);
    expect(await webhookFindings(url, {}, deps)).toMatchObject([
      { code: 'AGENT_ACCESS_DENIED', field: 'config.webhook.headers' },
    ]);
    expect(await webhookFindings('http://127.0.0.1:9', {}, deps)).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field: 'agentEndpoint' },
    ]);
  });
});
