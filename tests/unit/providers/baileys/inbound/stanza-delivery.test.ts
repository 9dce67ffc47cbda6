import { proto, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../../../router/src/core/ports/inbox.ts';
import { ChatLanes } from '../../../../../router/src/providers/baileys/inbound/chat-lanes.ts';
import { CoreDelivery } from '../../../../../router/src/providers/baileys/inbound/core-delivery.ts';
import { JournalTrim } from '../../../../../router/src/providers/baileys/inbound/journal-trim.ts';
import { KeptPlaces } from '../../../../../router/src/providers/baileys/inbound/kept-places.ts';
import { OrderedLanes } from '../../../../../router/src/providers/baileys/inbound/ordered-lanes.ts';
import {
  type DecryptedStanza,
  StanzaDelivery,
} from '../../../../../router/src/providers/baileys/inbound/stanza-delivery.ts';
import { StanzaMemory } from '../../../../../router/src/providers/baileys/inbound/stanza-memory.ts';
import { UndecryptedMessages } from '../../../../../router/src/providers/baileys/inbound/undecrypted-messages.ts';
import {
  encodeStanza,
  envelopeOf,
  messageKeyOf,
} from '../../../../../router/src/providers/baileys/messages/stanza.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

const OWN = { id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' };
const ATTRS = { id: 'A', from: '34600000002@s.whatsapp.net', t: '1767225600' };

let received: InboundMessage[];
let refusal: Error | undefined;
let journal: MemoryJournal;
let memory: StanzaMemory;
let trim: JournalTrim;
let delivery: StanzaDelivery;
let clock: FakeClock;

beforeEach(() => {
  received = [];
  refusal = undefined;
  journal = new MemoryJournal();
  memory = new StanzaMemory();
  clock = new FakeClock(Number(ATTRS.t) * 1_000);
  trim = new JournalTrim(journal, 'main', clock, quietLog);
  const handOver = new CoreDelivery({
    accountId: 'main',
    receive: async (message) => {
      if (refusal) throw refusal;
      received.push(message);
    },
    onTrouble: () => undefined,
    onRefused: () => undefined,
    phoneOfLid: async () => undefined,
    own: () => OWN,
    whatsAppNow: () => clock.now(),
    clock,
    log: quietLog,
    maxMessageAgeMs: 60_000,
    random: () => 0.5,
  });
  handOver.stop();
  delivery = new StanzaDelivery({ handOver, memory, trim, own: () => OWN, log: quietLog });
});

/** A message whose one part is journalled, its receipt sent. */
function stanza(plaintext: Uint8Array, offline = false): DecryptedStanza {
  const envelope = envelopeOf(ATTRS, OWN);
  if (!envelope) throw new Error('no envelope');
  journal.add('main', [
    {
      ciphertextHash: 'hash',
      stanzaOrder: 1n,
      waMessageId: 'A',
      plaintext,
      stanza: encodeStanza({ attrs: ATTRS, parts: 1, behind: [] }),
    },
  ]);
  trim.receipted('hash');
  const key = messageKeyOf(envelope);
  return { key, envelope, attrs: ATTRS, order: 1n, offline, plaintexts: [plaintext], hashes: ['hash'] };
}

const text = (conversation: string) => writeRandomPadMax16(proto.Message.encode({ conversation }).finish());

/** Once nothing of it can be delivered again. */
async function leftInJournal(): Promise<number> {
  await clock.advanceMs(60_000);
  await trim.finish();
  return (await journal.pending('main', { afterOrder: 0n, limit: 10 })).length;
}

describe('the delivery of a decrypted stanza', () => {
  it('gives core the message, and lets it go from the journal', async () => {
    const whole = stanza(text('hello'));
    expect(await delivery.deliver(whole)).toBe(true);
    expect(received).toMatchObject([{ waMessageId: 'A', text: 'hello', stanzaOrder: 1n }]);
    expect([memory.outcomeOf(whole.key), await leftInJournal()]).toEqual(['received', 0]);
  });

  it('leaves it in the journal when core cannot take it', async () => {
    const whole = stanza(text('hello'));
    refusal = new Error('a defect');
    expect(await delivery.deliver(whole)).toBe(true);
    expect([memory.isRead(whole.key), await leftInJournal()]).toEqual([false, 1]);
  });

  it('says when it is no message', async () => {
    expect(await delivery.deliver(stanza(Buffer.from([255, 255, 255, 1])))).toBe(false);
    expect([received, await leftInJournal()]).toEqual([[], 0]);
  });
});

describe('a message that could not be read', () => {
  function unread(): { messages: UndecryptedMessages; places: KeptPlaces; lanes: OrderedLanes } {
    const lanes = new OrderedLanes(2);
    const places = new KeptPlaces(lanes, quietLog);
    const chats = new ChatLanes();
    const deps = { memory, places, lanes, chats, delivery, own: () => OWN, log: quietLog };
    return { messages: new UndecryptedMessages(deps), places, lanes };
  }

  it('leaves a note of its own when it is given up, and its place to those behind it', async () => {
    const { messages, places, lanes } = unread();
    const key = 'the key';
    places.asked(places.begin({ key, order: 1n, lane: 'chat' }));
    messages.failed({ key, attrs: ATTRS, order: 1n });
    expect(places.size).toBe(1);
    messages.finish();
    await lanes.below(1);
    expect(places.size).toBe(0);
    expect(received).toMatchObject([{ waMessageId: 'A:undecryptable', kind: 'undecryptable' }]);
    expect(memory.outcomeOf(key)).toBe('failed');
  });

  it('leaves none when its text came after all', async () => {
    const { messages, lanes } = unread();
    messages.failed({ key: 'the key', attrs: ATTRS, order: 1n });
    messages.resolved('the key');
    messages.finish();
    await lanes.below(1);
    expect(received).toEqual([]);
  });
});
