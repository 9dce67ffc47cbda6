import { describe, expect, it } from 'vitest';
import { a2aSettings, a2aSettingsProblems } from '../../../../../router/src/infra/agents/a2a/a2a-settings.ts';
import { textsOf } from '../../../../../router/src/infra/agents/route-secrets.ts';

describe('a2aKind', () => {
  it('masks the key and the headers, and checks every address', () => {
    const settings = { apiKey: 'k', headers: { A: 'h' }, cardUrl: 'https://a.example' };
    expect(textsOf(a2aSettings, settings, 'password').map(({ value }) => value)).toEqual(['k', 'h']);
    expect(textsOf(a2aSettings, settings, 'uri').map(({ value }) => value)).toEqual(['https://a.example']);
  });

  it.each([
    [{ version: '2.0' }],
    [{ transport: 'grpc' }],
    [{ waitMs: -1 }],
    [{ apiKey: '' }],
    [{ other: 1 }],
  ])('refuses %j', (settings) => {
    expect(a2aSettings.safeParse(settings).success).toBe(false);
  });

  it('checks the template', async () => {
    expect(await a2aSettingsProblems({ output: '{{text}}' })).toEqual([]);
    expect(await a2aSettingsProblems({})).toEqual([]);
    expect(await a2aSettingsProblems({ output: '{{#failed}}' })).toMatchObject([{ field: 'output' }]);
  });
});
