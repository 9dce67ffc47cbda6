import { describe, expect, it } from 'vitest';
import { observedProvider } from '../../../router/src/app/accounts.ts';
import { NotConnectedError } from '../../../router/src/core/errors.ts';

const message = { accountId: 'a', to: '1@lid', waMessageId: '3EB0', text: 'hello' };

function setup(send: () => Promise<void>) {
  const sent: string[] = [];
  const calls: unknown[][] = [];
  const provider = observedProvider(
    {
      accountId: 'a',
      send: (...given) => {
        calls.push(given);
        return send();
      },
      upload: async (_message, bytes) => bytes,
      untilLimitsKnown: () => undefined,
      status: () => ({ accountId: 'a', state: 'open', nextAction: '', sinceMs: 0 }),
    },
    (accountId) => sent.push(accountId),
  );
  return { provider, sent, calls };
}

describe('observedProvider', () => {
  it('counts a message after it was sent, and passes it on with its content', async () => {
    let finish = () => {};
    const { provider, sent, calls } = setup(() => new Promise((resolve) => (finish = resolve)));
    const content = new Uint8Array([1]);
    const sending = provider.send(message, content);
    expect(sent).toEqual([]);
    finish();
    await sending;
    expect(sent).toEqual(['a']);
    expect(calls).toEqual([[message, content]]);
  });

  it('counts no message that was not sent, and throws the error of the provider', async () => {
    const error = new NotConnectedError('a');
    const { provider, sent } = setup(() => Promise.reject(error));
    await expect(provider.send(message)).rejects.toBe(error);
    expect(sent).toEqual([]);
  });

  it('passes on uploads and the status', async () => {
    const { provider, sent } = setup(async () => undefined);
    expect(await provider.upload(message, new Uint8Array([7]))).toEqual(new Uint8Array([7]));
    expect(provider.status()).toMatchObject({ accountId: 'a', state: 'open' });
    expect(sent).toEqual([]);
  });
});
