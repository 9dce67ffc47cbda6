import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import { adkServer } from '../../../../../router/src/infra/agents/adk/adk-run.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';

const transport = new AgentTransport();
const serverAt = (url: string, headers?: Record<string, string>) => adkServer(url, headers, transport);

describe('adkServer', () => {
  it.each([
    ['http://a:8000', 'http://a:8000', 'http://a:8000/run'],
    ['http://a/', 'http://a', 'http://a/run'],
    ['http://a/adk//?tenant=1', 'http://a/adk', 'http://a/adk/run?tenant=1'],
    ['https://ana:pass@a/x#part', 'https://a/x', 'https://a/x/run'],
  ])('keeps path and query of %s and names the server without them and credentials', (base, name, run) => {
    const server = serverAt(base);
    expect(server.name).toBe(name);
    expect(server.url('run')).toBe(run);
  });

  it('encodes each segment of a path', () => {
    expect(serverAt('http://a').url('apps', 'my/app ?', '..%2f')).toBe(
      'http://a/apps/my%2Fapp%20%3F/..%252f',
    );
  });

  it('sends the credentials of the URL, which a header of the route overrides', () => {
    const basic = `Basic ${Buffer.from('ana:p@ss word').toString('base64')}`;
    expect(serverAt('http://ana:p%40ss%20word@a').headers.get('authorization')).toBe(basic);
    const own = serverAt('http://ana:pass@a', { Authorization: 'Bearer t' });
    expect(own.headers.get('authorization')).toBe('Bearer t');
  });

  it('always sends JSON', () => {
    expect(serverAt('http://a', { 'Content-Type': 'text/plain' }).headers.get('content-type')).toBe(
      'application/json',
    );
  });

  it('lists as secrets the password and each header value, also without its scheme', () => {
    const { secrets } = serverAt('http://ana:p%40ss@a', { Authorization: 'Bearer  token', 'X-Empty': '' });
    expect(secrets).toEqual(expect.arrayContaining(['p@ss', 'Bearer  token', 'token']));
    expect(secrets).not.toContain('application/json');
    // An empty text would be found between any two characters of an error.
    expect(secrets).not.toContain('');
  });

  it.each(['', 'localhost:8000', 'ftp://a', 'http://'])('refuses the base URL %j', (base) => {
    expect(() => serverAt(base)).toThrow(AgentProtocolError);
  });

  it('refuses credentials that are not percent-encoded, without quoting them', () => {
    const open = () => serverAt('http://ana:100%secret@a');
    expect(open).toThrow(AgentProtocolError);
    expect(open).not.toThrow(/secret/);
  });

  it.each([
    ['a b', 'x'],
    ['X-Key', 'top\nsecret'],
  ])('refuses the header %j, without quoting its value', (name, value) => {
    const open = () => serverAt('http://a', { [name]: value });
    expect(open).toThrow(AgentProtocolError);
    expect(open).not.toThrow(/secret/);
  });
});
