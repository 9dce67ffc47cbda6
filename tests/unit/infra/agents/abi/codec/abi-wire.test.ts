import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../../router/src/core/errors.ts';
import {
  callUrl,
  envelopeError,
  envelopeOf,
  outputsIn,
  requestBody,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('requestBody', () => {
  const calldata = Buffer.from('771602f7', 'hex');

  it('is the calldata itself in the raw envelope', () => {
    const { contentType, body } = requestBody('raw', calldata, 'M1');
    expect(contentType).toBe('application/octet-stream');
    expect(Buffer.from(body as Uint8Array)).toEqual(calldata);
  });

  it('contains the calldata in hex and the id of the message in the JSON envelope', () => {
    const { contentType, body } = requestBody('json', calldata, 'M1');
    expect(contentType).toBe('application/json');
    expect(JSON.parse(String(body))).toEqual({ requestId: 'M1', request: '0x771602f7' });
  });
});

describe('envelopeOf', () => {
  it('accepts unknown keys and an absent result', () => {
    expect(envelopeOf(json({ steps: [{ name: 'a', at: 1 }], more: 2 }))).toMatchObject({
      steps: [{ name: 'a', at: 1 }],
    });
    expect(envelopeOf(json({ steps: [], result: null }))).toEqual({ steps: [], result: null });
  });

  it.each([
    ['an empty body', Buffer.alloc(0)],
    ['an array', json([{ steps: [] }])],
    ['an object without steps', json({ result: '0x' })],
    ['steps that are not objects', json({ steps: ['a'] })],
    ['a result that is not text', json({ steps: [], result: 5 })],
    ['half an object', Buffer.from('{"steps":[')],
    ['bytes that begin like an object', Buffer.from([0x7b, 0xff, 0x00])],
  ])('is undefined for %s', (_name, body) => {
    expect(envelopeOf(body)).toBeUndefined();
  });
});

describe('envelopeError', () => {
  const errorOf = (...steps: object[]) => envelopeError(json({ steps }));

  it('is the text of the last error step', () => {
    expect(errorOf({ name: 'error', message: 'first' }, { name: 'error', error: 'second' })).toBe('second');
    expect(errorOf({ name: 'error', detail: 'no city' }, { name: 'end' })).toBe('no city');
  });

  it('is the whole step when it has no text, and undefined when it has nothing', () => {
    expect(errorOf({ name: 'error', code: 7 })).toBe('{"code":7}');
    expect(errorOf({ name: 'error' })).toBeUndefined();
    expect(errorOf({ name: 'end' })).toBeUndefined();
    expect(envelopeError(Buffer.from('error'))).toBeUndefined();
  });
});

describe('outputsIn', () => {
  it('is the body in the raw envelope, whatever it contains', () => {
    const body = json({ steps: [], result: '0x01' });
    expect(outputsIn('raw', body)).toBe(body);
  });

  it('is the hex result in the JSON envelope, which may be empty', () => {
    expect(outputsIn('json', json({ steps: [], result: '0x01aB' }))).toEqual(Buffer.from([1, 0xab]));
    expect(outputsIn('json', json({ steps: [], result: '0x' }))).toEqual(Buffer.alloc(0));
  });

  it.each(['01ab', '0x1', '0xgg', ''])('refuses the result %j', (result) => {
    expect(() => outputsIn('json', json({ steps: [{ name: 'end' }, {}], result }))).toThrow(
      "The ABI agent's JSON envelope contains no hex result (steps: end, ?).",
    );
  });

  it('quotes the error of the envelope only as `redact` returns it', () => {
    const body = json({ steps: [{ name: 'error', message: 'no Ann here' }], result: null });
    const redact = (text: string) => text.replace('Ann', '[argument]');
    expect(() => outputsIn('json', body, redact)).toThrow('(steps: error): no [argument] here.');
  });

  it('refuses a body that is no envelope', () => {
    expect(() => outputsIn('json', Buffer.alloc(32))).toThrow(AgentProtocolError);
  });
});

describe('the URL of a call', () => {
  it.each([
    ['http://agent', undefined, 'http://agent/'],
    ['http://agent:8080/base', undefined, 'http://agent:8080/base'],
    ['http://agent/base/?k=1', '/call', 'http://agent/base/call?k=1'],
    ['http://agent/base//', '//call', 'http://agent/base/call'],
    ['https://agent', undefined, 'https://agent/'],
    ['http://[::1]:8080', '/call', 'http://[::1]:8080/call'],
  ])('%s %s', (endpoint, path, url) => {
    expect(callUrl(endpoint, path)).toBe(url);
  });

  it.each(['agent:8080', 'ftp://agent', 'file:///etc/passwd', '/call', ''])(
    'is refused when the endpoint is %j',
    (endpoint) => {
      expect(() => callUrl(endpoint, undefined)).toThrow(AgentProtocolError);
    },
  );
});
