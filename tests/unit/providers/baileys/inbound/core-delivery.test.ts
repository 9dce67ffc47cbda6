import { proto, type WAMessage } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import { SendRefusedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { InboundMessage } from '../../../../../router/src/core/messages/inbound-message.ts';
import { CoreDelivery } from '../../../../../router/src/providers/baileys/inbound/core-delivery.ts';
import { MemoryInbox } from '../../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../../doubles/memory-state.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { editedText, encryptedChange, encryptedEdit } from '../../../../whatsapp-emulator/message-content.ts';

let clock: FakeClock;
let received: InboundMessage[];
let refusals: unknown[];
let refused: string[];
let handOver: CoreDelivery;
let phones: Map<string, string>;
let inbox: MemoryInbox;

beforeEach(() => {
  inbox = new MemoryInbox(new MemoryState());
  clock = new FakeClock();
  received = [];
  refusals = [];
  refused = [];
  phones = new Map();
  handOver = new CoreDelivery({
    accountId: 'main',
    receive: async (message) => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      received.push(message);
      await inbox.add(message, 'node');
    },
    findOriginal: (edit, id) => inbox.original(edit, id),
    toStore: (message) => ({ message, node: 'node' }),
    stored: () => undefined,
    onTrouble: () => undefined,
    onRefused: (waMessageId) => refused.push(waMessageId),
    phoneOfLid: async (lid) => phones.get(lid),
    own: () => ({ id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' }),
    clock,
    whatsAppNow: () => clock.now(),
    log: recordingLog(),
    maxMessageAgeMs: () => 60_000,
    random: () => 0.5,
  });
});

function decrypted(
  message: proto.IMessage = { conversation: 'hello' },
  remoteJid = '34600000002@s.whatsapp.net',
) {
  const whole: WAMessage = proto.WebMessageInfo.fromObject({
    key: { remoteJid, id: 'A' },
    message,
    messageTimestamp: Math.floor(clock.now() / 1_000),
  }) as WAMessage;
  return { message: whole, order: 7n, type: 'notify' as const };
}

describe('a message', () => {
  it('is delivered to core in the types of core', async () => {
    expect(await handOver.deliver(decrypted())).toBe('received');
    expect(received).toMatchObject([
      { accountId: 'main', waMessageId: 'A', text: 'hello', stanzaOrder: 7n, chat: { phone: '34600000002' } },
    ]);
  });

  it('from a LID has the known number of the LID', async () => {
    phones.set('900000000000002', '34600000002');
    await handOver.deliver(decrypted(undefined, '900000000000002@lid'));
    expect(received[0]?.chat).toMatchObject({ lid: '900000000000002', phone: '34600000002' });
  });

  it('without content for core is skipped', async () => {
    expect(await handOver.deliver(decrypted({ senderKeyDistributionMessage: { groupId: 'g' } }))).toBe(
      'skipped',
    );
    expect(received).toEqual([]);
  });

  it('is delivered again until core stores it', async () => {
    refusals = [1, 2, 3].map(() => new StorageUnavailableError({ sentence: 'no database' }));
    const done = handOver.deliver(decrypted());
    await clock.untilSleeping();
    await clock.advanceMs(60_000);
    expect(await done).toBe('received');
    expect(refusals).toEqual([]);
  });

  it('that core refuses finally is given up at once', async () => {
    refusals = [new SendRefusedError({ sentence: 'never' })];
    expect(await handOver.deliver(decrypted())).toBe('refused');
  });

  it('that fails for an unknown reason is given up after five deliveries', async () => {
    refusals = Array.from({ length: 9 }, () => new TypeError('a defect'));
    const done = handOver.deliver(decrypted());
    await clock.untilSleeping();
    await clock.advanceMs(60_000);
    expect(await done).toBe('refused');
    expect(refusals).toHaveLength(4);
  });

  it('that waits for core stays in the journal when the service stops', async () => {
    refusals = [new StorageUnavailableError({ sentence: 'no database' })];
    const done = handOver.deliver(decrypted());
    await clock.untilSleeping();
    handOver.stop();
    expect(await done).toBe('stopped');
    expect(received).toEqual([]);
  });
});

describe('an encrypted edit', () => {
  const secret = Buffer.alloc(32, 7);
  const [pn, lid] = ['34600000002@s.whatsapp.net', '900000000000002@lid'];
  const [bo, boLid] = ['34600000003@s.whatsapp.net', '900000000000003@lid'];
  const [own, ownLid] = ['34600000001@s.whatsapp.net', '100000000000001@lid'];
  const group = '120363000000000001@g.us';
  const original = { conversation: 'the old', messageContextInfo: { messageSecret: secret } };

  /** Delivers a message of these addresses; what core got. */
  async function deliver(
    id: string,
    message: proto.IMessage,
    key: proto.IMessageKey & Record<string, unknown>,
  ) {
    const { message: whole, ...rest } = decrypted(message, key.remoteJid ?? '');
    Object.assign(whole.key, key, { id });
    expect(await handOver.deliver({ ...rest, message: whole })).toBe('received');
    return received.at(-1);
  }

  it.each<[string, proto.IMessageKey & Record<string, unknown>, string[]]>([
    ['by number', { remoteJid: pn, remoteJidAlt: lid }, [pn, lid]],
    ['by LID', { remoteJid: lid, remoteJidAlt: pn }, [pn, lid]],
    ['by number alone', { remoteJid: pn }, [pn]],
    ['by LID alone', { remoteJid: lid }, [lid]],
    ['in a group by LID', { remoteJid: group, participant: lid, participantAlt: pn }, [pn, lid]],
    ['in a group by number', { remoteJid: group, participant: pn, participantAlt: lid }, [pn, lid]],
    [
      'of the owner in the chat with themselves',
      { remoteJid: own, remoteJidAlt: ownLid, fromMe: true },
      [own, ownLid],
    ],
    ['of the owner in another chat', { remoteJid: pn, remoteJidAlt: lid, fromMe: true }, [own, ownLid]],
  ])('%s arrives as the plain edit would', async (_, key, jids) => {
    await deliver('ORIGINAL', original, key);
    const plain = await deliver('EDIT', editedText('ORIGINAL', 'the new'), key);
    expect(plain).toMatchObject({ text: 'the new', editOf: 'ORIGINAL' });
    for (const author of jids) {
      for (const editor of jids) {
        const edit = encryptedEdit({ id: 'ORIGINAL', secret, author }, editor, 'the new');
        expect(await deliver('EDIT', edit, key)).toEqual(plain);
      }
    }
  });

  it('is read when the message came by number and the edit by LID, once both are known', async () => {
    await deliver('ORIGINAL', original, { remoteJid: pn });
    phones.set('900000000000002', '34600000002');
    const edit = encryptedEdit({ id: 'ORIGINAL', secret, author: pn }, lid, 'the new');
    expect(await deliver('EDIT', edit, { remoteJid: lid })).toMatchObject({
      text: 'the new',
      editOf: 'ORIGINAL',
    });
  });

  it.each(['ORIGINAL', 'OWN'])(
    'of another member who has the secret changes nothing (%s)',
    async (target) => {
      const anaKey = { remoteJid: group, participant: lid, participantAlt: pn };
      const boKey = { remoteJid: group, participant: boLid, participantAlt: bo };
      await deliver('ORIGINAL', original, anaKey);
      // Bo may also choose the id of a message of Ana for one of hers.
      if (target === 'OWN') await deliver('ORIGINAL', { conversation: 'of Bo' }, boKey);
      for (const author of [lid, pn, boLid]) {
        for (const editor of [lid, pn, boLid, bo]) {
          const forged = encryptedEdit({ id: 'ORIGINAL', secret, author }, editor, 'forged');
          expect(await deliver(`FORGED ${author} ${editor}`, forged, boKey)).toMatchObject({
            text: '',
            ignoredReason: 'encrypted-edit',
            ignoredStep: { outcome: target === 'OWN' ? 'no-secret' : 'other-author' },
          });
        }
      }
    },
  );

  it('changes no message of another chat', async () => {
    await deliver('ORIGINAL', original, { remoteJid: pn, remoteJidAlt: lid });
    const edit = encryptedEdit({ id: 'ORIGINAL', secret, author: lid }, lid, 'the new');
    const inGroup = { remoteJid: group, participant: lid, participantAlt: pn };
    expect(await deliver('EDIT', edit, inGroup)).toMatchObject({ ignoredStep: { outcome: 'no-original' } });
  });

  it('of a message that was stored without a secret keeps its reason, and the trace says why', async () => {
    await deliver('ORIGINAL', { conversation: 'the old' }, { remoteJid: pn });
    const edit = encryptedEdit({ id: 'ORIGINAL', secret, author: pn }, pn, 'the new');
    expect(await deliver('EDIT', edit, { remoteJid: pn })).toMatchObject({
      ignoredReason: 'encrypted-edit',
      ignoredStep: { step: 'encrypted-edit', outcome: 'no-secret' },
    });
  });

  it('of an event has the new event', async () => {
    const event = (name: string) => ({ eventMessage: { name } });
    await deliver(
      'ORIGINAL',
      { ...event('Lunch'), messageContextInfo: { messageSecret: secret } },
      { remoteJid: pn },
    );
    const plaintext = proto.Message.encode(event('Dinner')).finish();
    const edit = encryptedChange({ id: 'ORIGINAL', secret, author: pn }, pn, 'Event Edit', plaintext);
    expect(await deliver('EDIT', edit, { remoteJid: pn })).toMatchObject({
      editOf: 'ORIGINAL',
      details: { card: { kind: 'event', name: 'Dinner' } },
    });
  });
});
