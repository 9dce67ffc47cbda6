import { expect, it } from 'vitest';
import { MediaError } from '../../../router/src/core/errors.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryState } from '../../doubles/memory-state.ts';
import { judge } from '../../simulation/judge.ts';
import { TURN_ATTEMPTS } from '../../simulation/sim-node.ts';

const ANA = '34670000001@s.whatsapp.net';
const FILE_NOTICE = new MediaError('MEDIA_UNAVAILABLE', { sentence: '' }).forPerson;

/** A picture that was answered with the notice that it could not be loaded. */
async function violationsOf({
  failedDownloads = TURN_ATTEMPTS,
  state: end = 'dead' as 'dead' | 'answered',
  file = true,
}) {
  const state = new MemoryState();
  const inbox = new MemoryInbox(state);
  const { messageId } = await inbox.add(
    {
      accountId: 'main',
      waMessageId: 'WA1',
      chat: { kind: 'person', phone: '34670000001' },
      sender: { phone: '34670000001' },
      kind: 'image',
      text: 'message 1',
      sentAtMs: 0,
      stanzaOrder: 1n,
    },
    'node-1',
  );
  const reply = { accountId: 'main', to: ANA, waMessageId: 'RE1', text: FILE_NOTICE };
  const reason = end === 'dead' ? 'MEDIA_UNAVAILABLE' : undefined;
  const {
    replies: [stored],
  } = await inbox.finishTurn(messageId, { state: end, reason, replies: [reply] });
  Object.assign(state.outbox.get(stored?.outboxId ?? '') ?? {}, { state: 'acked' });
  const written = {
    ...{ id: 'WA1', chat: ANA, sender: ANA, isByLid: false, text: 'message 1' },
    ...{ editOf: undefined, file: file ? '/picture/WA1' : undefined },
    ...{ retries: 0, wasDamaged: false, isReceipted: true },
  };
  const bubble = { id: 'RE1', chat: ANA, content: { text: FILE_NOTICE, editOf: undefined, file: undefined } };
  const whatsapp = {
    written: [written],
    seen: new Map([[ANA, [bubble]]]),
    refused: new Set<string>(),
    members: () => [ANA],
  };
  const violations = judge(whatsapp, { state }, { failedDownloads: () => failedDownloads }, undefined);
  return violations.map(({ kind }) => kind);
}

it('accepts the notice about a file that no attempt of the turn could load', async () => {
  expect(await violationsOf({})).toEqual([]);
});

it.each([
  ['a file that was loaded', { failedDownloads: TURN_ATTEMPTS - 1 }],
  ['a message that is no dead letter', { state: 'answered' as const }],
  ['a message without a file', { file: false }],
])('does not accept it for %s', async (_, given) => {
  expect(await violationsOf(given)).toEqual(['edit-lost', 'unexpected-reply']);
});
