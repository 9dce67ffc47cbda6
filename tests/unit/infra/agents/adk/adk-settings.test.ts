import { describe, expect, it } from 'vitest';
import { adkKind } from '../../../../../router/src/infra/agents/adk/adk-kind.ts';
import { adkSettings } from '../../../../../router/src/infra/agents/adk/adk-run.ts';

/** Fields that are wrong. */
function wrongFields(change: object): string[] {
  const { error } = adkSettings.safeParse({ appName: 'my_agent', ...change });
  return (error?.issues ?? []).map(({ path }) => path.join('.'));
}

describe('the settings of an ADK route', () => {
  it('name the server as baseUrl, else it is the endpoint of the route', () => {
    expect(adkKind.endpointOf('http://a', { appName: 'a' })).toBe('http://a');
    expect(adkKind.endpointOf('http://a', { appName: 'a', baseUrl: 'http://b' })).toBe('http://b');
  });

  it.each([
    [{}],
    [{ appName: 'x'.repeat(200) }],
    [{ appName: 'mi agente ñ/1' }],
    [{ baseUrl: 'https://a/adk?tenant=1', dialect: 'auto', media: false, headers: {}, timeoutMs: 100 }],
  ])('accept %j', (change) => {
    expect(wrongFields(change)).toEqual([]);
  });

  it.each([
    [{ appName: undefined }, 'appName'],
    [{ appName: ' \t' }, 'appName'],
    [{ appName: 'x'.repeat(201) }, 'appName'],
    [{ baseUrl: 'localhost:8000' }, 'baseUrl'],
    [{ baseUrl: null }, 'baseUrl'],
    [{ dialect: 'kebab' }, 'dialect'],
    [{ media: 'yes' }, 'media'],
    [{ headers: { Host: 'a' } }, 'headers.Host'],
    [{ timeoutMs: 99 }, 'timeoutMs'],
    [{ stream: true }, ''],
  ])('refuse %j', (change, field) => {
    expect(wrongFields(change)).toEqual([field]);
  });
});
