import type { ChatProvider } from '../core/ports/chat-provider.ts';

type Sender = Pick<ChatProvider, 'accountId' | 'send' | 'upload' | 'status' | 'untilLimitsKnown'>;

/** The sending side of a provider; calls `onSent` after each message that was written to the socket. */
export function observedProvider(provider: Sender, onSent: (accountId: string) => void): Sender {
  const { accountId } = provider;
  return {
    accountId,
    send: async (...message) => {
      await provider.send(...message);
      onSent(accountId);
    },
    upload: (...file) => provider.upload(...file),
    status: () => provider.status(),
    untilLimitsKnown: () => provider.untilLimitsKnown(),
  };
}
