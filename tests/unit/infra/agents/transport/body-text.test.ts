import { describe, expect, it } from 'vitest';
import { bodyJson, bodyText } from '../../../../../router/src/infra/agents/transport/error-text.ts';

const headers = (type: string) => new Headers({ 'content-type': type });

describe('bodyText', () => {
  it.each([
    ['UTF-8', Buffer.from('é'), undefined],
    ['a byte order mark', Buffer.from('\ufeffé'), undefined],
    ['two marks', Buffer.from('\ufeff\ufeffé'), undefined],
    ['UTF-16 with a mark', Buffer.from('\ufeffé', 'utf16le'), headers('text/plain')],
    ['a declared charset', Buffer.from('é', 'latin1'), headers('text/plain; charset="windows-1252"')],
    ['an unknown charset', Buffer.from('é'), headers('text/plain; charset=x-none')],
    ['a mark against the charset', Buffer.from('\ufeffé'), headers('text/plain; charset=latin1')],
  ])('reads %s', (_, body, given) => {
    expect(bodyText({ body, ...(given && { headers: given }) })).toBe('é');
  });

  it('reads the line ends of every system', () => {
    expect(bodyText({ body: Buffer.from('a\r\nb\rc\n') })).toBe('a\nb\nc\n');
  });

  it('reads JSON behind a mark, and nothing else as JSON', () => {
    expect(bodyJson({ body: Buffer.from('\ufeff{"a":1}') })).toEqual({ a: 1 });
    expect(bodyJson({ body: Buffer.from('a') })).toBeUndefined();
  });
});
