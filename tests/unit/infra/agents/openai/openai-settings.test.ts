import { describe, expect, it } from 'vitest';
import { openAiSettings } from '../../../../../router/src/infra/agents/openai/openai-settings.ts';
import { textsOf } from '../../../../../router/src/infra/agents/route-secrets.ts';

describe('openAiSettings', () => {
  it('need a model only', () => {
    expect(openAiSettings.safeParse({ model: 'gpt' }).success).toBe(true);
    expect(openAiSettings.safeParse({}).success).toBe(false);
    expect(openAiSettings.safeParse({ model: ' ' }).success).toBe(false);
  });

  it.each([
    ['historyTurns', -1],
    ['historyTurns', 201],
    ['maxTokens', 0],
    ['temperature', 2.1],
    ['temperature', Number.NaN],
    ['api', 'completions'],
    ['baseUrl', 'ftp://server'],
    ['apiKey', 'two words'],
    ['apiKey', ''],
    ['system', ''],
    ['stream', true],
  ])('refuse %s: %j', (field, value) => {
    expect(openAiSettings.safeParse({ model: 'gpt', [field]: value }).success).toBe(false);
  });

  it('have the key and the header values as secrets, and the address as an address', () => {
    const settings = { model: 'gpt', apiKey: 'sk-1', headers: { 'X-Key': 'k' }, baseUrl: 'http://server' };
    const paths = (format: 'password' | 'uri') =>
      textsOf(openAiSettings, settings, format).map(({ path }) => path.join('.'));
    expect(paths('password')).toEqual(['apiKey', 'headers.X-Key']);
    expect(paths('uri')).toEqual(['baseUrl']);
  });
});
