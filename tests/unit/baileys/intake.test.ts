import type { BinaryNode } from '@whiskeysockets/baileys';
import { proto, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../router/src/core/ports/inbox.ts';
import { MemoryJournal } from '../../../router/src/infra/memory/memory-journal.ts';
import { MemoryKeyStore } from '../../../router/src/infra/memory/memory-key-store.ts';
import { systemClock } from '../../../router/src/infra/system-clock.ts';
import { Intake } from '../../../router/src/providers/baileys/intake.ts';
import { recordingLog } from '../../support/quiet-log.ts';

const GROUP = '120363000000000001@g.us';

let journal: MemoryJournal;
let store: MemoryKeyStore;
let received: string[];
let waiting: Array<() => void>;

beforeEach(() => {
  journal = new MemoryJournal();
  store = new MemoryKeyStore(journal);
  received = [];
  waiting = [];
});

function newIntake(): Intake {
  return new Intake({
    accountId: 'main',
    receive: async (message: InboundMessage) => {
      received.push(message.text);
      for (const look of waiting) look();
    },
    journal,
    phoneOfLid: async () => undefined,
    own: () => ({ id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' }),
    onDecrypted: () => undefined,
    whatsAppNow: () => Date.now(),
    clock: systemClock,
    log: recordingLog(),
    maxMessageAgeMs: 86_400_000,
    random: () => 0.5,
  });
}

/** A group message of one of two members, whose ciphertext is its text. */
function stanza(id: string, member: 'ana' | 'bo', isOffline = false): BinaryNode {
  const attrs = {
    id,
    from: GROUP,
    participant: member === 'ana' ? '34600000002@s.whatsapp.net' : '34600000003@s.whatsapp.net',
    type: 'text',
    t: String(Math.floor(Date.now() / 1_000)),
    ...(isOffline && { offline: '0' }),
  };
  return {
    tag: 'message',
    attrs,
    content: [{ tag: 'enc', attrs: { type: 'skmsg' }, content: Buffer.from(id) }],
  };
}

function ciphertextOf(node: BinaryNode): Uint8Array {
  return (node.content as BinaryNode[])[0]?.content as Uint8Array;
}

/** Decryption and its commit, as the signal repository does them. */
async function decrypt(intake: Intake, node: BinaryNode, isTold = true): Promise<void> {
  const ciphertext = ciphertextOf(node);
  const entry = intake.entryFor(ciphertext);
  if (!entry) throw new Error('the stanza is not known');
  const plaintext = writeRandomPadMax16(proto.Message.encode({ conversation: node.attrs.id }).finish());
  const scope = { accountId: 'main', generation: 1 };
  await store.commit(scope, { puts: [], deletes: [], journal: [{ ...entry, plaintext }] });
  if (isTold) await intake.decrypted(ciphertext, { ...entry, plaintext });
}

async function untilReceived(count: number): Promise<string[]> {
  await new Promise<void>((resolve) => {
    const look = () => received.length >= count && resolve();
    waiting.push(look);
    look();
  });
  return received;
}

describe('two messages of a group, the later one decrypted first', () => {
  it('are received in the order in which they came', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    await decrypt(intake, first);
    expect(await untilReceived(2)).toEqual(['first', 'second']);
  });

  it('are received in that order also when the process ends in between', async () => {
    const killed = newIntake();
    killed.arrived(stanza('first', 'ana'));
    const second = stanza('second', 'bo');
    killed.arrived(second);
    await decrypt(killed, second, false);

    const intake = newIntake();
    await intake.replay();
    expect(received).toEqual([]);
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    expect(await untilReceived(2)).toEqual(['first', 'second']);
  });

  it('are received in that order also when the connection ends in between', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    intake.connectionClosed();
    expect(received).toEqual([]);
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    expect(await untilReceived(2)).toEqual(['first', 'second']);
  });

  it('do not wait for ever: what is not delivered again is gone on without at the end', async () => {
    const intake = newIntake();
    intake.arrived(stanza('first', 'ana'));
    const second = stanza('second', 'bo');
    intake.arrived(second);
    await decrypt(intake, second);
    intake.connectionClosed();
    await intake.stop();
    expect(received).toEqual(['second']);
  });
});
