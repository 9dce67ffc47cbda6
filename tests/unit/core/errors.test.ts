import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  AccountNotHeldError,
  AgentProtocolError,
  AgentUnavailableError,
  isRetryable,
  LeaseLostError,
  MediaError,
  SendUncertainError,
  StorageTroubleError,
  StorageUnavailableError,
  Wa2aiError,
} from '../../../router/src/core/errors.ts';

describe('Wa2aiError', () => {
  it('has the name of its class and keeps the cause', () => {
    const cause = new Error('socket closed');
    expect(new SendUncertainError({ sentence: 'No ack.' }, { cause })).toMatchObject({
      name: 'SendUncertainError',
      code: 'SEND_UNCERTAIN',
      disposition: 'uncertain',
      message: 'No ack.',
      cause,
    });
  });

  it('shows its detail, which may contain message text, to no serializer', () => {
    const error = new AgentProtocolError({ sentence: 'The agent failed.' }).withDetail({
      asked: 'secret text',
    });
    expect(error.detail).toEqual({ asked: 'secret text' });
    for (const shown of [JSON.stringify(error), inspect(error, { showHidden: true }), error.stack]) {
      expect(shown).not.toContain('secret text');
    }
    expect(Object.keys(error)).not.toContain('detail');
    expect({ ...error }).not.toHaveProperty('detail');
  });
});

describe('isRetryable', () => {
  it.each([
    [new AgentUnavailableError({ sentence: 'away' }), true],
    [new StorageTroubleError('full', { sentence: 'The disk is full.' }), true],
    [new MediaError('MEDIA_UNAVAILABLE', { sentence: 'slow' }), true],
    [new MediaError('MEDIA_GONE', { sentence: 'gone' }), false],
    [new SendUncertainError({ sentence: 'no ack' }), false],
    [new Wa2aiError('CODE', 'dead', { sentence: 'no' }), false],
    [Object.assign(new Error('foreign'), { disposition: 'retry' }), false],
    [undefined, false],
  ])('of %s is %s', (error, expected) => {
    expect(isRetryable(error)).toBe(expected);
  });
});

describe('StorageTroubleError', () => {
  it.each([
    ['full', 'STORAGE_FULL'],
    ['read-only', 'STORAGE_READ_ONLY'],
    ['newer', 'STORAGE_NEWER'],
  ] as const)('has for %s the code %s, and is an unavailable storage', (trouble, code) => {
    const error = new StorageTroubleError(trouble, { sentence: 'Act.' });
    expect(error).toMatchObject({ code, trouble, disposition: 'retry', message: 'Act.' });
    expect(error).toBeInstanceOf(StorageUnavailableError);
  });
});

describe('the errors of an account', () => {
  it('name the account, and the node if one did not answer', () => {
    expect(new LeaseLostError('sales').message).toContain('"sales"');
    expect(new AccountNotHeldError('sales').message).toMatch(/^No node runs WhatsApp account "sales"/);
    expect(new AccountNotHeldError('sales', 'n2').message).toMatch(/^Node "n2" did not answer for .*"sales"/);
  });
});
