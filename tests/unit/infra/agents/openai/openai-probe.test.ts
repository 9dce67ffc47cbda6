import { describe, expect, it } from 'vitest';
import {
  openAiFindings,
  probeOpenAiServer,
} from '../../../../../router/src/infra/agents/openai/openai-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { serverOf } from '../../../../support/abi.ts';

const deps = { transport: new AgentTransport(), signal: new AbortController().signal };

async function answering(status: number, body: string) {
  const { url } = await serverOf((_request, response) => response.writeHead(status).end(body));
  return url;
}

describe('probeOpenAiServer', () => {
  it('asks for the models with the key', async () => {
    const seen: unknown[] = [];
    const { url } = await serverOf((request, response) => {
      seen.push([request.method, request.url, request.headers.authorization]);
      response.end('{"object":"list","data":[{"id":"one"},{"id":"two"}]}');
    });
    expect(await probeOpenAiServer(url, { apiKey: 'sk-1' }, deps)).toEqual({
      server: `${url}/v1`,
      status: 200,
      models: ['one', 'two'],
      isProtocol: true,
    });
    expect(seen).toEqual([['GET', '/v1/models', 'Bearer sk-1']]);
  });

  it.each([
    [200, '[{"id":"one"}]', ['one'], true],
    [401, '{"error":{"message":"key","type":"invalid_request_error"}}', [], true],
    [401, '{"error":"Unauthorized"}', [], false],
    [200, '{"ok":true}', [], false],
    [404, 'Not found', [], false],
  ])('reads status %i with %s', async (status, body, models, isProtocol) => {
    const probe = await probeOpenAiServer(await answering(status, body), {}, deps);
    expect(probe).toMatchObject({ status, models, isProtocol });
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
    const settings = { model: 'gpt', baseUrl: 'http://127.0.0.1:9' };
    expect(await openAiFindings('http://127.0.0.1:8', settings, deps)).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field: 'config.openai.baseUrl' },
    ]);
  });
});
