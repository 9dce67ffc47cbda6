import type { BinaryNode } from '@whiskeysockets/baileys';
import { proto, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { InboundMessage } from '../../../../../router/src/core/ports/inbox.ts';
import type { DamagedEntry, Journal, JournalEntry } from '../../../../../router/src/core/ports/journal.ts';
import { Intake } from '../../../../../router/src/providers/baileys/inbound/intake.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

const GROUP = '120363000000000001@g.us';

let journal: MemoryJournal;
let store: MemoryKeyStore;
let received: string[];
let notes: string[];
let canAnswer: boolean;
let unreadable: string[];
/** Core takes nothing while true. */
let isStorageDown: boolean;

beforeEach(() => {
  vi.useFakeTimers();
  journal = new MemoryJournal();
  store = new MemoryKeyStore(journal);
  received = [];
  notes = [];
  canAnswer = true;
  unreadable = [];
  isStorageDown = false;
});
afterEach(() => {
  vi.useRealTimers();
});

function newIntake(): Intake {
  return new Intake({
    accountId: 'main',
    receive: async (message: InboundMessage) => {
      if (isStorageDown) throw new StorageUnavailableError('the database is away');
      if (message.kind === 'undecryptable') notes.push(message.waMessageId);
      else received.push(message.text);
    },
    journal,
    phoneOfLid: async () => undefined,
    own: () => ({ id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' }),
    onDecrypted: () => undefined,
    onJournalUnreadable: (waMessageId) => unreadable.push(waMessageId),
    onTrouble: () => undefined,
    onRefused: () => undefined,
    whatsAppNow: () => Date.now(),
    canAnswer: () => canAnswer,
    clock: {
      now: () => Date.now(),
      monotonicMs: () => Date.now(),
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          setTimeout(resolve, ms);
          signal?.addEventListener('abort', () => reject(signal.reason));
          if (signal?.aborted) reject(signal.reason);
        }),
    },
    log: recordingLog(),
    maxMessageAgeMs: 86_400_000,
    random: () => 0.5,
  });
}

type Member = 'ana' | 'bo';
const JIDS = { ana: '34600000002@s.whatsapp.net', bo: '34600000003@s.whatsapp.net' };

/** A group message of one of two members, whose ciphertext is its id. */
function stanza(id: string, member: Member, isOffline = false): BinaryNode {
  const attrs = {
    id,
    from: GROUP,
    participant: JIDS[member],
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

/** The same, its author's group key in a part before the text. */
function stanzaWithKey(id: string, member: Member, isOffline = false): BinaryNode {
  const { tag, attrs, content } = stanza(id, member, isOffline);
  const key = { tag: 'enc', attrs: { type: 'pkmsg' }, content: Buffer.from(`key of ${id}`) };
  return { tag, attrs, content: [key, ...(content as BinaryNode[])] };
}

function ciphertextOf(node: BinaryNode, part = 0): Uint8Array {
  return (node.content as BinaryNode[])[part]?.content as Uint8Array;
}

/** Decryption and its commit, as the signal repository does them; not told: the process ended right after the commit. */
async function decrypt(intake: Intake, node: BinaryNode, isTold = true): Promise<void> {
  await decryptPart(intake, ciphertextOf(node), { conversation: node.attrs.id }, isTold);
}

async function decryptPart(
  intake: Intake,
  ciphertext: Uint8Array,
  content: proto.IMessage,
  isTold = true,
): Promise<void> {
  const entry = intake.entryFor(ciphertext);
  if (!entry) throw new Error('the stanza is not known');
  const plaintext = writeRandomPadMax16(proto.Message.encode(content).finish());
  const scope = { accountId: 'main', generation: 1 };
  await store.commit(scope, { puts: [], deletes: [], journal: [{ ...entry, plaintext }] });
  if (isTold) await intake.decrypted(ciphertext, { ...entry, plaintext });
}

const GROUP_KEY: proto.IMessage = {
  senderKeyDistributionMessage: { groupId: GROUP, axolotlSenderKeyDistributionMessage: Buffer.from('k') },
};

/** Lets go on what can without time passing. */
const settle = () => vi.advanceTimersByTimeAsync(0);

/** The next process on the same database, its journal replayed. */
async function nextLife(): Promise<Intake> {
  const intake = newIntake();
  await intake.replay();
  await settle();
  return intake;
}

describe('two messages of a group, the later one decrypted first', () => {
  it('are received in the order in which they came', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    await decrypt(intake, first);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order on a machine that takes half a minute for the first', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(received).toEqual([]);
    await decrypt(intake, first);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order also when the process ends in between', async () => {
    const killed = newIntake();
    killed.arrived(stanza('first', 'ana'));
    const second = stanza('second', 'bo');
    killed.arrived(second);
    await decrypt(killed, second, false);

    const intake = await nextLife();
    expect(received).toEqual([]);
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order however long the next login takes', async () => {
    const killed = newIntake();
    killed.arrived(stanza('first', 'ana'));
    const second = stanza('second', 'bo');
    killed.arrived(second);
    await decrypt(killed, second, false);

    const intake = await nextLife();
    await vi.advanceTimersByTimeAsync(600_000);
    intake.connected();
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    intake.offlineDelivered();
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order also when the connection ends in between', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    intake.connectionClosed();
    await settle();
    expect(received).toEqual([]);
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order when the connection and then the process end in between', async () => {
    const killed = newIntake();
    const second = stanza('second', 'bo');
    killed.arrived(stanza('first', 'ana'));
    killed.arrived(second);
    killed.connectionClosed();
    await decrypt(killed, second, false);

    const intake = await nextLife();
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order when the service stops in between', async () => {
    const stopped = newIntake();
    const second = stanza('second', 'bo');
    stopped.arrived(stanza('first', 'ana'));
    stopped.arrived(second);
    await decrypt(stopped, second);
    await stopped.stop();
    expect(received).toEqual([]);

    const intake = await nextLife();
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order when the keys of the first could not be stored', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decrypt(intake, second);
    // The provider ends the socket in the very step in which a store fails.
    canAnswer = false;
    intake.failed(ciphertextOf(first), new StorageUnavailableError('the database is away'));
    await vi.advanceTimersByTimeAsync(30_000);
    intake.connectionClosed();
    expect(received).toEqual([]);
    canAnswer = true;
    const again = stanza('first', 'ana', true);
    intake.arrived(again);
    await decrypt(intake, again);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('are received in that order when the first comes twice', async () => {
    const intake = newIntake();
    const [first, twin, second] = [stanza('first', 'ana'), stanza('first', 'ana'), stanza('second', 'bo')];
    for (const node of [first, twin, second]) intake.arrived(node);
    await decrypt(intake, second);
    intake.failed(ciphertextOf(twin), new Error('Bad MAC'));
    await settle();
    expect(received).toEqual([]);
    await decrypt(intake, first);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });
});

describe('a message that brings its author’s group key', () => {
  it('keeps its place when the process ends between the key and the text', async () => {
    const killed = newIntake();
    const [first, second] = [stanzaWithKey('first', 'ana'), stanza('second', 'bo')];
    killed.arrived(first);
    killed.arrived(second);
    await decryptPart(killed, ciphertextOf(first, 0), GROUP_KEY, false);
    await decrypt(killed, second, false);

    const intake = await nextLife();
    expect(received).toEqual([]);
    const again = stanzaWithKey('first', 'ana', true);
    intake.arrived(again);
    await decryptPart(intake, ciphertextOf(again, 0), GROUP_KEY);
    await decryptPart(intake, ciphertextOf(again, 1), { conversation: 'first' });
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('keeps its place, and is asked for, when the text cannot be decrypted', async () => {
    const intake = newIntake();
    const [first, second] = [stanzaWithKey('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    await decryptPart(intake, ciphertextOf(first, 0), GROUP_KEY);
    intake.failed(ciphertextOf(first, 1), new Error('Bad MAC'));
    await decrypt(intake, second);
    await settle();
    expect(received).toEqual([]);
    const sentAgain = stanza('first', 'ana');
    intake.arrived(sentAgain);
    await decrypt(intake, sentAgain);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('and never comes whole is noted as unread, and goes from the journal', async () => {
    const killed = newIntake();
    const first = stanzaWithKey('first', 'ana');
    killed.arrived(first);
    await decryptPart(killed, ciphertextOf(first, 0), GROUP_KEY, false);

    const intake = await nextLife();
    intake.connected();
    intake.offlineDelivered();
    await vi.advanceTimersByTimeAsync(11 * 60_000);
    expect(notes).toEqual(['first:undecryptable']);
    expect(await journal.pending('main', { afterOrder: 0n, limit: 10 })).toEqual([]);
  });
});

describe('later messages of a chat', () => {
  /** The second of two waits for the first, which an earlier life left undecrypted. */
  async function waitingForRedelivery(): Promise<Intake> {
    const killed = newIntake();
    const second = stanza('second', 'bo');
    killed.arrived(stanza('first', 'ana'));
    killed.arrived(second);
    await decrypt(killed, second, false);
    return nextLife();
  }

  it('go on when WhatsApp has delivered all it kept and the earlier one was not among it', async () => {
    const intake = await waitingForRedelivery();
    intake.connected();
    await settle();
    expect(received).toEqual([]);
    intake.offlineDelivered();
    await settle();
    expect(received).toEqual(['second']);
  });

  it('are received after the earlier one also when the phone, asked for its content, sends that', async () => {
    const intake = await waitingForRedelivery();
    const message = { conversation: 'first' };
    const key = { remoteJid: GROUP, participant: JIDS.ana, id: 'first', fromMe: false };
    const messageTimestamp = Math.floor(Date.now() / 1_000);
    intake.upserted({ key, message, messageTimestamp }, 'notify');
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('go on when WhatsApp never says so and has delivered nothing for a while', async () => {
    const intake = await waitingForRedelivery();
    intake.connected();
    await vi.advanceTimersByTimeAsync(15_000);
    const other = stanza('third', 'bo', true);
    intake.arrived(other);
    await decrypt(intake, other);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(received).toEqual([]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(received).toEqual(['second', 'third']);
  });

  it('go on when the connection was broken off because of one that was never decrypted', async () => {
    const intake = newIntake();
    const second = stanza('second', 'bo');
    intake.arrived(stanza('first', 'ana'));
    intake.arrived(second);
    await decrypt(intake, second);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(intake.oldestOpenMs()).toBeGreaterThan(60_000);
    intake.connectionClosed();
    intake.connected();
    await settle();
    expect(received).toEqual([]);
    intake.offlineDelivered();
    await settle();
    expect(received).toEqual(['second']);
  });

  it('go on when the account was unlinked', async () => {
    const intake = await waitingForRedelivery();
    intake.unlinked();
    await settle();
    expect(received).toEqual(['second']);
  });

  it('wait while their sender sends the earlier one again', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    intake.failed(ciphertextOf(first), new Error('Bad MAC'));
    await decrypt(intake, second);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(received).toEqual([]);
    const sentAgain = stanza('first', 'ana');
    intake.arrived(sentAgain);
    await decrypt(intake, sentAgain);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });

  it('go on when its sender does not send it again', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    intake.failed(ciphertextOf(first), new Error('Bad MAC'));
    await decrypt(intake, second);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(received).toEqual(['second']);
  });

  it('do not wait longer for many such than for one', async () => {
    const intake = newIntake();
    for (let number = 0; number < 50; number++) {
      const unreadable = stanza(`unreadable ${number}`, 'ana');
      intake.arrived(unreadable);
      intake.failed(ciphertextOf(unreadable), new Error('Bad MAC'));
    }
    const last = stanza('last', 'bo');
    intake.arrived(last);
    await decrypt(intake, last);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(received).toEqual(['last']);
  });

  it('do not wait for one that Baileys refuses unread', async () => {
    const intake = newIntake();
    const { tag, attrs } = stanza('refused', 'ana');
    const enc = (type: string) => ({ tag: 'enc', attrs: { type }, content: Buffer.from(type) });
    intake.arrived({ tag, attrs, content: [enc('msmsg'), enc('skmsg')] });
    const second = stanza('second', 'bo');
    intake.arrived(second);
    await decrypt(intake, second);
    await settle();
    expect(received).toEqual(['second']);
  });

  it('do not wait for one that was read before', async () => {
    const intake = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    intake.arrived(first);
    intake.arrived(second);
    intake.failed(ciphertextOf(first), new Error('Key used already or never filled'));
    await decrypt(intake, second);
    await settle();
    expect(received).toEqual(['second']);
  });
});

describe('what an earlier life left in the journal', () => {
  const journalled = async () => {
    await settle();
    return (await journal.pending('main', { afterOrder: 0n, limit: 10 })).map((entry) => entry.waMessageId);
  };

  it('goes when it is received and WhatsApp, having delivered all that waited, did not deliver it again', async () => {
    const killed = newIntake();
    for (const id of ['receipted', 'not receipted']) {
      const node = stanza(id, 'ana');
      killed.arrived(node);
      await decrypt(killed, node, false);
    }

    const intake = await nextLife();
    expect(received).toEqual(['receipted', 'not receipted']);
    intake.connected();
    const again = stanza('not receipted', 'ana', true);
    intake.arrived(again);
    expect(await journalled()).toEqual(['receipted', 'not receipted']);
    intake.offlineDelivered();
    expect(await journalled()).toEqual(['not receipted']);
    await decrypt(intake, again);
    intake.taken(ciphertextOf(again));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await journalled()).toEqual([]);
  });

  it('stays while core cannot take it', async () => {
    const killed = newIntake();
    const only = stanza('only', 'ana');
    killed.arrived(only);
    await decrypt(killed, only, false);
    isStorageDown = true;
    const intake = await nextLife();
    intake.offlineDelivered();
    expect(await journalled()).toEqual(['only']);
    isStorageDown = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect([received, await journalled()]).toEqual([['only'], []]);
  });
});

describe('the end of the service', () => {
  it('waits for what core is taking', async () => {
    const intake = newIntake();
    const only = stanza('only', 'ana');
    intake.arrived(only);
    await decrypt(intake, only);
    await intake.stop();
    expect(received).toEqual(['only']);
  });

  it('leaves what core cannot take to the next life', async () => {
    const stopped = newIntake();
    const only = stanza('only', 'ana');
    isStorageDown = true;
    stopped.arrived(only);
    await decrypt(stopped, only);
    await settle();
    await stopped.stop();
    expect(received).toEqual([]);
    isStorageDown = false;
    await nextLife();
    expect(received).toEqual(['only']);
  });

  it('notes what could not be decrypted, and keeps its place for the next life', async () => {
    const stopped = newIntake();
    const [first, second] = [stanza('first', 'ana'), stanza('second', 'bo')];
    stopped.arrived(first);
    stopped.arrived(second);
    stopped.failed(ciphertextOf(first), new Error('Bad MAC'));
    await decrypt(stopped, second);
    await stopped.stop();
    expect(notes).toEqual(['first:undecryptable']);
    expect(received).toEqual([]);

    const intake = await nextLife();
    intake.connected();
    const sentAgain = stanza('first', 'ana', true);
    intake.arrived(sentAgain);
    intake.offlineDelivered();
    await decrypt(intake, sentAgain);
    await settle();
    expect(received).toEqual(['first', 'second']);
  });
});

describe('an entry of the journal that cannot be read', () => {
  const attrs = { id: 'LOST', from: JIDS.ana, type: 'text', t: '1767225600' };
  const entry = (more: Partial<JournalEntry>): JournalEntry => ({
    ciphertextHash: 'lost',
    stanzaOrder: 0n,
    waMessageId: 'LOST',
    plaintext: writeRandomPadMax16(proto.Message.encode({ conversation: 'lost' }).finish()),
    stanza: Buffer.from(JSON.stringify({ attrs })),
    ...more,
  });

  async function replayedWith(damaged: JournalEntry | DamagedEntry): Promise<void> {
    const killed = newIntake();
    const later = stanza('later', 'ana');
    killed.arrived(later);
    await decrypt(killed, later, false);
    const whole = await journal.pending('main', { afterOrder: 0n, limit: 10 });
    // The memory's own journal holds no damaged entries.
    const read: Journal['pending'] = async () => [damaged, ...whole];
    vi.spyOn(journal as Journal, 'pending').mockImplementationOnce(read);
    await nextLife();
    await settle();
  }

  it.each(['\0', '', 'null', '[]', '{"attrs":5}', '{"attrs":{},"behind":[["a","x"]]}'])(
    'because its stanza is %j is told to the account, stays, and holds up nothing',
    async (bytes) => {
      await replayedWith(entry({ stanza: Buffer.from(bytes) }));
      expect(received).toEqual(['later']);
      expect(unreadable).toEqual(['LOST']);
      expect(notes).toEqual([]);
    },
  );

  it('because the database cannot read it is noted in its chat, when that is known', async () => {
    const { plaintext: _lost, ...rest } = entry({});
    await replayedWith({ ...rest, isDamaged: true });
    expect(received).toEqual(['later']);
    expect(notes).toEqual(['LOST:undecryptable']);
    expect(unreadable).toEqual([]);
  });

  it('because its plaintext is noise is noted in its chat too', async () => {
    await replayedWith(entry({ plaintext: Buffer.from([9, 9, 9, 0xff]) }));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(received).toEqual(['later']);
    expect(notes).toEqual(['LOST:undecryptable']);
  });
});
