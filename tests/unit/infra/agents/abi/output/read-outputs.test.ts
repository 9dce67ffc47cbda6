import { describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../../../../../router/src/core/errors.ts';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { viemParameter } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { readOutputs } from '../../../../../../router/src/infra/agents/abi/output/read-outputs.ts';
import type {
  FaultKind,
  Fetched,
} from '../../../../../../router/src/infra/agents/transport/bounded-fetch.ts';

type CallContext = Parameters<typeof readOutputs>[1];

const abi = await createAbi(['greet(string name) returns (string greeting)', 'note(string text)']);
const [greet, note] = abi.functions as [CallContext['target'], CallContext['target']];
const hello = Buffer.from(abi.codec.encode(greet.outputs.map(viemParameter), ['Hello']).slice(2), 'hex');

function asked(more: Partial<CallContext> = {}): CallContext {
  return {
    target: greet,
    codec: abi.codec,
    envelope: 'raw',
    timeoutMs: 5_000,
    isIdempotent: false,
    nowMs: Date.UTC(2026, 0, 1),
    redact: (text) => text.replaceAll('Alice', '[argument]'),
    ...more,
  };
}

function answer(status: number, body: Buffer | string = '', headers: Record<string, string> = {}): Fetched {
  return { kind: 'answer', status, headers: new Headers(headers), body: Buffer.from(body) };
}

function fault(reason: FaultKind): Fetched {
  return { kind: 'fault', fault: reason, detail: { sentence: 'about Alice' }, cause: new Error('socket') };
}

function failure(fetched: Fetched, more: Partial<CallContext> = {}): unknown {
  try {
    return readOutputs(fetched, asked(more));
  } catch (error) {
    return error;
  }
}

type ErrorClass = new (...args: never[]) => Error;

const sentence = (...args: Parameters<typeof failure>) => (failure(...args) as Error).message;

describe('the outputs of an answer', () => {
  it.each([
    [200, 'OK'],
    [200, ''],
    [204, ''],
  ])('are none for a function without outputs, with status %i and the body %j', (status, body) => {
    expect(readOutputs(answer(status, body), asked({ target: note }))).toEqual([]);
  });

  it.each([[200], [204]])('that are absent are an error, with status %i', (status) => {
    expect(sentence(answer(status))).toBe('The ABI agent answered nothing; greet answers (string).');
    expect(failure(answer(status))).toBeInstanceOf(AgentProtocolError);
  });
});

describe('an answer that cannot be decoded', () => {
  it.each([
    ['is text', 'Hello Alice', "it is text: 'Hello [argument]'"],
    [
      'is hex as text',
      `"0x${'00'.repeat(32)}"`,
      'it is hex written as text, but must be the bytes themselves',
    ],
    ['is the JSON envelope', '{"steps":[]}', 'it is the JSON envelope, set envelope to json'],
    ['is long text', 'x'.repeat(200), `it is text: '${'x'.repeat(100)}…'`],
  ])('gets a hint when it %s', (_name, body, hint) => {
    expect(sentence(answer(200, body))).toMatch(
      /^The ABI agent's answer of \d+ bytes to greet is not \(string\): it /,
    );
    expect(sentence(answer(200, body))).toMatch(/; [^;]+\.$/);
    expect(sentence(answer(200, body)).endsWith(`; ${hint}.`)).toBe(true);
  });

  it('gets no hint when it is binary or was in the JSON envelope', () => {
    expect(sentence(answer(200, Buffer.alloc(31, 1)))).toMatch(/it ends before greeting's offset\.$/);
    const envelope = JSON.stringify({ steps: [], result: '0x48656c6c6f' });
    expect(sentence(answer(200, envelope), { envelope: 'json' })).toMatch(
      /answer of 5 bytes to greet is not \(string\): it ends before greeting's offset\.$/,
    );
  });
});

describe('a request without an answer', () => {
  it.each<[FaultKind, ErrorClass, ErrorClass]>([
    ['refused', AgentProtocolError, AgentProtocolError],
    ['not-connected', AgentUnavailableError, AgentUnavailableError],
    ['too-large', AgentProtocolError, AgentProtocolError],
    // The call may have happened: it is repeated only when that changes nothing.
    ['no-answer', AgentTimeoutError, AgentUnavailableError],
    ['broken', AgentTimeoutError, AgentUnavailableError],
    ['aborted', AgentTimeoutError, AgentUnavailableError],
  ])('because of %s', (reason, kind, idempotentKind) => {
    expect(failure(fault(reason))).toBeInstanceOf(kind);
    expect(failure(fault(reason), { isIdempotent: true })).toBeInstanceOf(idempotentKind);
    expect(sentence(fault(reason))).not.toContain('Alice');
  });

  it('is away only when nothing was connected, and has its own code when the address is refused', () => {
    expect(failure(fault('not-connected'))).toMatchObject({ isAway: true });
    expect(failure(fault('aborted'), { isIdempotent: true })).toMatchObject({
      isAway: false,
      message: 'The ABI agent did not answer within 5000 ms.',
    });
    expect(failure(fault('refused'))).toMatchObject({ code: 'AGENT_ADDRESS_REFUSED' });
  });
});

describe('a refusal', () => {
  it.each<[number, ErrorClass, ErrorClass]>([
    [429, AgentUnavailableError, AgentUnavailableError],
    [502, AgentUnavailableError, AgentUnavailableError],
    [503, AgentUnavailableError, AgentUnavailableError],
    [504, AgentTimeoutError, AgentUnavailableError],
    [400, AgentProtocolError, AgentUnavailableError],
    [500, AgentProtocolError, AgentUnavailableError],
    [401, AgentProtocolError, AgentProtocolError],
    [201, AgentProtocolError, AgentProtocolError],
    [308, AgentProtocolError, AgentProtocolError],
  ])('with status %i', (status, kind, idempotentKind) => {
    expect(failure(answer(status, hello))).toBeInstanceOf(kind);
    expect(failure(answer(status, hello), { isIdempotent: true })).toBeInstanceOf(idempotentKind);
  });

  it('quotes what the agent said, without what the person wrote', () => {
    expect(sentence(answer(404, 'no Alice'))).toBe('The ABI agent answered status 404: no [argument]');
    const envelope = JSON.stringify({ steps: [{ name: 'error', message: 'no Alice' }] });
    expect(sentence(answer(404, envelope))).toBe('The ABI agent answered status 404: no [argument]');
    expect(sentence(answer(307, '', { location: 'http://x/?q=Alice' }))).toBe(
      'The ABI agent answered status 307 (redirects are not followed; it points to http://x/?q=[argument])',
    );
  });

  it('says how long to wait', () => {
    expect(failure(answer(503, '', { 'retry-after': '7' }))).toMatchObject({
      retryAfterMs: 7_000,
      isAway: true,
    });
  });
});
