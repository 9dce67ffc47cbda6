import { describe, expect, it } from 'vitest';
import { abiSettings } from '../../../../../router/src/infra/agents/abi/abi-settings.ts';

const functions = ['f()'];

/** `field message` of each mistake. */
function mistakes(settings: object): string[] {
  const parsed = abiSettings.safeParse({ functions, ...settings });
  return parsed.error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];
}

describe('the settings of an ABI route', () => {
  it.each([
    [{}],
    [{ functions: 'https://agent/abi.json' }],
    [{ functions: [{ type: 'event' }, 'f()'] }],
    [{ functions: Array(1_000).fill('f()') }],
    [{ args: [] }],
    [{ args: { a: [1, null, { b: '{{text}}' }] } }],
    [{ output: { image: '{{0}}', caption: 'x' } }],
    [{ path: '/' }],
    [{ path: '/a/b:c%20d' }],
    [{ envelope: 'auto', idempotent: false, timeoutMs: 100 }],
  ])('accept %j', (settings) => {
    expect(mistakes(settings)).toEqual([]);
  });

  it.each<[object, string]>([
    [{ functions: [] }, 'functions must contain at least one function'],
    [{ functions: Array(1_001).fill('f()') }, 'functions must have at most 1000 entries'],
    [{ functions: 'f()' }, 'functions must be an array of signatures or JSON ABI entries, or the http:// or'],
    [{ functions: 5 }, 'functions must be an array of signatures or JSON ABI entries'],
    [{ functions: [5] }, 'functions'],
    [{ args: '{{text}}' }, 'args must be an array or an object'],
    [{ output: 5 }, 'output must be a template, or an object with one of image, audio, document'],
    [{ output: { video: '{{0}}' } }, 'output Unrecognized key: "video"'],
    [{ output: '' }, 'output '],
    [{ path: 'call' }, 'path must begin with / and contain no spaces'],
    [{ path: '/a b' }, 'path must begin with / and contain no spaces'],
    [{ path: '/a\r\n' }, 'path must begin with / and contain no spaces'],
    [{ path: '/a?b=1' }, 'path must be a path without ? and #'],
    [{ path: '/a#b' }, 'path must be a path without ? and #'],
    [{ envelope: 'RAW' }, 'envelope '],
    [{ function: '' }, 'function '],
    [{ timeoutMs: 99 }, 'timeoutMs '],
    [{ headers: { 'content-type': 'text/plain' } }, 'headers'],
    [{ idempotent: 'yes' }, 'idempotent '],
    [{ functoins: [] }, ' Unrecognized key'],
  ])('refuse %j', (settings, sentence) => {
    const found = mistakes(settings);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join('\n')).toContain(sentence);
  });

  it('need the functions', () => {
    expect(abiSettings.safeParse({}).error?.issues[0]?.path).toEqual(['functions']);
  });
});
