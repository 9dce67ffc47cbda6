import { describe, expect, it } from 'vitest';
import { openAiKind } from '../../../../../router/src/infra/agents/openai/openai-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { serverOf } from '../../../../support/abi.ts';
import { aboutOf, probeOf, toolsOf } from '../../../../support/agent-kinds.ts';

const deps = { clock: holdingClock, transport: new AgentTransport(), signal: new AbortController().signal };
const openAiFindings = probeOf(openAiKind);
const settings = { model: 'gpt' };

async function answering(status: number, body: string) {
  const { url } = await serverOf((_request, response) => response.writeHead(status).end(body));
  return url;
}

describe('what a model server says about itself', () => {
  it('asks for the models with the key', async () => {
    const seen: unknown[] = [];
    const { url } = await serverOf((request, response) => {
      seen.push([request.method, request.url, request.headers.authorization]);
      response.end('{"object":"list","data":[{"id":"one"},{"id":"two"}]}');
    });
    const about = await aboutOf(openAiKind)(url, { ...settings, apiKey: 'sk-1' }, deps);
    expect(about).toEqual({ capabilities: ['model one', 'model two'] });
    expect(seen).toEqual([['GET', '/v1/models', 'Bearer sk-1']]);
  });

  it.each([
    [200, '[{"id":"one"}]', ['one'], true],
    [401, '{"error":{"message":"key","type":"invalid_request_error"}}', [], true],
    [401, '{"error":"Unauthorized"}', [], false],
    [200, '{"ok":true}', [], false],
    [404, 'Not found', [], false],
  ])('reads status %i with %s', async (status, body, models, isProtocol) => {
    const url = await answering(status, body);
    const about = await aboutOf(openAiKind)(url, settings, deps);
    expect(about?.capabilities ?? []).toEqual(models.map((name) => `model ${name}`));
    const input = { url, options: {}, timeoutMs: 60_000, ...deps };
    expect(await toolsOf(openAiKind).detect(input)).toBe(isProtocol);
  });
});

describe('the findings about a route to a model', () => {
  it.each([
    [200, '{"data":[{"id":"gpt"}]}'],
    [404, 'Not found'],
  ])('are none for status %i with %s', async (status, body) => {
    expect(await openAiFindings(await answering(status, body), { model: 'gpt' }, deps)).toEqual([]);
  });

  it('name the models of the server when it does not list the model', async () => {
    const url = await answering(200, '{"data":[{"id":"one"},{"id":"two"}]}');
    expect(await openAiFindings(url, { model: 'gpt' }, deps)).toEqual([
      {
        code: 'AGENT_APP_UNKNOWN',
        field: 'config.openai.model',
        message: `The model server at ${url}/v1 does not list the model "gpt". Its models: one, two.`,
        phrase: expect.objectContaining({ code: 'probe.no-model' }),
      },
    ]);
  });

  it('name the key when the server refuses it, and the address when nothing answers', async () => {
    const denied = await openAiFindings(
      await answering(401, ''),
      { model: 'gpt', apiKey: 'sk-secret' },
      deps,
    );
    expect(denied).toMatchObject([{ code: 'AGENT_ACCESS_DENIED', field: 'config.openai.apiKey' }]);
    expect(JSON.stringify(denied)).not.toContain('sk-secret');
    const closed = { ...settings, baseUrl: 'http://127.0.0.1:9' };
    expect(await openAiFindings('http://127.0.0.1:8', closed, deps)).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field: 'config.openai.baseUrl' },
    ]);
  });
});
