import { describe, expect, it } from 'vitest';
import { openAiServer } from '../../../../../router/src/infra/agents/openai/openai-settings.ts';

describe('openAiServer', () => {
  it.each([
    ['https://api.openai.com', 'https://api.openai.com/v1/chat/completions'],
    ['https://api.openai.com/', 'https://api.openai.com/v1/chat/completions'],
    ['https://api.openai.com/v1', 'https://api.openai.com/v1/chat/completions'],
    ['https://api.openai.com/v1/', 'https://api.openai.com/v1/chat/completions'],
    ['https://api.openai.com/v1/chat/completions', 'https://api.openai.com/v1/chat/completions'],
    ['http://localhost:11434', 'http://localhost:11434/v1/chat/completions'],
    ['https://openrouter.ai/api', 'https://openrouter.ai/api/v1/chat/completions'],
    ['https://host/v1beta/openai/', 'https://host/v1beta/openai/chat/completions'],
    ['https://host/api/paas/v4', 'https://host/api/paas/v4/chat/completions'],
    ['https://host/chat/completions', 'https://host/chat/completions'],
    [
      'https://host/openai/deployments/d/chat/completions?api-version=1',
      'https://host/openai/deployments/d/chat/completions?api-version=1',
    ],
  ])('finds the request of %s', (address, url) => {
    expect(openAiServer(address, {})).toMatchObject({ url, api: 'chat' });
  });

  it.each([
    ['https://host/v1/responses', undefined, 'https://host/v1/responses', 'responses'],
    ['https://host/v1', 'responses', 'https://host/v1/responses', 'responses'],
    ['https://host/v1/responses', 'chat', 'https://host/v1/chat/completions', 'chat'],
  ] as const)('chooses the API of %s with %s', (address, api, url, used) => {
    expect(openAiServer(address, { api })).toMatchObject({ url, api: used });
  });

  it('finds the list of models beside the request', () => {
    expect(openAiServer('https://host/v1/chat/completions?v=1', {}).modelsUrl).toBe(
      'https://host/v1/models?v=1',
    );
  });

  it('sends the key as a bearer token, unless the route sets its own header', () => {
    const { headers, secrets } = openAiServer('https://host', { apiKey: 'sk-1234', headers: { 'X-A': '' } });
    expect(headers.get('authorization')).toBe('Bearer sk-1234');
    expect(secrets).toEqual(['Bearer sk-1234', 'sk-1234']);
    const own = openAiServer('https://host', { apiKey: 'sk-1234', headers: { Authorization: 'Basic x' } });
    expect(own.headers.get('authorization')).toBe('Basic x');
  });

  it('refuses an address or a header that cannot be used, and does not quote the value', () => {
    expect(() => openAiServer('localhost', {})).toThrow(/address is not a URL/);
    const broken = () => openAiServer('https://host', { headers: { 'X-Key': 'secret\nvalue' } });
    expect(broken).toThrow(/header "X-Key" is not valid|not a valid HTTP header/);
    expect(broken).not.toThrow(/secret/);
  });
});
