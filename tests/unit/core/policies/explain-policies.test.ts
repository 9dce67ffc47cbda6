import { expect, it } from 'vitest';
import { say } from '../../../../router/src/core/phrases.ts';
import type { ChatPolicy, TurnView } from '../../../../router/src/core/policies/policy.ts';
import { explainPolicies } from '../../../../router/src/core/routing/explain-route.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { aRoute } from '../../../support/routes.ts';

const step = { step: 'no', outcome: 'stopped', sentence: 'No.' };

it('evaluates policies up to the one that ends the turn, with what is stored of the chat', async () => {
  const seen: TurnView[] = [];
  const policies: ChatPolicy[] = [
    { name: 'only-during', during: (_view, work) => work() },
    {
      name: 'sees',
      before: async (view) => {
        seen.push(view);
        return { kind: 'continue' };
      },
    },
    { name: 'ends', before: async () => ({ kind: 'end', reason: 'quota-exceeded', step }) },
    { name: 'later', before: () => Promise.reject(new Error('not reached')) },
  ];
  const lines = await explainPolicies(
    {
      policies,
      conversation: async () => ({ quota: { messages: 3 } }),
      chatStore: { turnFacts: async () => ({ chatId: '7', isPaused: true }), get: async () => undefined },
      clock: new FakeClock(),
      log: quietLog,
    },
    aRoute({ config: { reply: { maxChars: 900 } } }),
    {
      accountId: 'main',
      channelIds: ['34600000001'],
      message: { channelId: '34600000001', from: '34600000001@s.whatsapp.net', isGroup: false, text: 'hola' },
      toUs: 'quote',
    },
  );
  expect(lines).toEqual([
    { policy: 'sees', outcome: 'continues', ...say('policy.passes') },
    { policy: 'ends', outcome: 'ends', reason: 'quota-exceeded', sentence: 'No.' },
    { policy: 'later', outcome: 'not-reached', ...say('policy.not-reached') },
  ]);
  expect(seen).toMatchObject([
    {
      turn: { chatId: '7', isPaused: true, sender: '34600000001', toUs: 'quote' },
      conversation: { quota: { messages: 3 }, reply: { maxChars: 900 } },
      language: 'es',
    },
  ]);
});
