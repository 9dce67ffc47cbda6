import { describe, expect, it } from 'vitest';
import {
  type FetchPage,
  readClientRevision,
} from '../../../../../router/src/providers/baileys/connection/client-versions.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

type Page = Awaited<ReturnType<FetchPage>>;

const URL = 'https://web.example/sw.js';

function answer(body: string, more: { status?: number; headers?: Record<string, string> } = {}): Page {
  const { status = 200, headers = {} } = more;
  return { kind: 'answer', status, headers: new Headers(headers), body: Buffer.from(body) };
}

function read(pages: Record<string, Page>, asked: Array<Parameters<FetchPage>> = []) {
  const fetchPage: FetchPage = async (...call) => {
    asked.push(call);
    return pages[call[0]] ?? { kind: 'fault', detail: { sentence: `nothing at ${call[0]}` } };
  };
  return readClientRevision(URL, { fetchPage, clock: new FakeClock(), signal: new AbortController().signal });
}

describe('readClientRevision', () => {
  it.each([
    ['JSON within a string', String.raw`self.x("{\"client_revision\":1047000001,\"b\":2}")`, 1047000001],
    ['plain JSON', '{"client_revision": 1047000002}', 1047000002],
    ['several', '{"client_revision":1047000003} {"client_revision":5}', 1047000003],
  ])('finds the first revision in %s', async (_name, body, revision) => {
    expect(await read({ [URL]: answer(body) })).toEqual({ kind: 'found', revision });
  });

  it('asks as a browser does, for at most 1 MB', async () => {
    const asked: Array<Parameters<FetchPage>> = [];
    await read({ [URL]: answer('') }, asked);
    const [[url, { headers, maxBytes }] = [] as never] = asked;
    expect(url).toBe(URL);
    expect(headers.get('sec-fetch-site')).toBe('none');
    expect(headers.get('user-agent')).toMatch(/^Mozilla\/5\.0 /);
    expect(maxBytes).toBe(1_000_000);
  });

  it.each([
    ['no revision', answer('<html>'), 'it names no client_revision'],
    ['a number without end', answer(`"client_revision":${'9'.repeat(400)}`), 'it names no client_revision'],
    ['another status', answer('"client_revision":1', { status: 500 }), 'status 500'],
    [
      'a fault',
      { kind: 'fault' as const, detail: { sentence: 'the answer is larger than 1000000 bytes' } },
      'the answer is larger than 1000000 bytes',
    ],
  ])('fails for %s', async (_name, page, problem) => {
    expect(await read({ [URL]: page })).toEqual({ kind: 'failed', problem });
  });

  it('follows redirects on the same host, at most three', async () => {
    const to = (location: string) => answer('', { status: 302, headers: { location } });
    const found = answer('"client_revision":1047000004');
    expect(await read({ [URL]: to('/a.js'), 'https://web.example/a.js': found })).toMatchObject({
      revision: 1047000004,
    });
    expect(await read({ [URL]: to(URL) })).toEqual({ kind: 'failed', problem: 'more than 3 redirects' });
  });

  it.each([
    'https://other.example/sw.js',
    'http://web.example/sw.js',
    'https://web.example:8443/sw.js',
    '//other.example/',
    '',
    'http://',
  ])('does not follow a redirect to %s', async (location) => {
    const asked: Array<Parameters<FetchPage>> = [];
    const page = answer('', { status: 301, headers: { location } });
    const result = await read({ [URL]: page }, asked);
    if (location === '') expect(result.kind).toBe('failed');
    else expect(result).toEqual({ kind: 'failed', problem: 'it redirects to another host' });
    expect(asked.every(([url]) => url === URL)).toBe(true);
  });

  it('ends after ten seconds', async () => {
    const clock = new FakeClock();
    const fetchPage: FetchPage = (_url, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ kind: 'fault', detail: { sentence: 'aborted' } }));
      });
    const read = readClientRevision(URL, { fetchPage, clock, signal: new AbortController().signal });
    await clock.advanceMs(10_000);
    expect(await read).toEqual({ kind: 'failed', problem: 'no answer in 10 s' });
  });
});
