import { proto, type WAMessage } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import { SendRefusedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { InboundMessage } from '../../../../../router/src/core/messages/inbound-message.ts';
import { CoreDelivery } from '../../../../../router/src/providers/baileys/inbound/core-delivery.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let clock: FakeClock;
let received: InboundMessage[];
let refusals: unknown[];
let refused: string[];
let handOver: CoreDelivery;
let phones: Map<string, string>;

beforeEach(() => {
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
    },
    onTrouble: () => undefined,
    onRefused: (waMessageId) => refused.push(waMessageId),
    phoneOfLid: async (lid) => phones.get(lid),
    own: () => ({ id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' }),
    clock,
    whatsAppNow: () => clock.now(),
    log: recordingLog(),
    maxMessageAgeMs: 60_000,
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
    refusals = [1, 2, 3].map(() => new StorageUnavailableError('no database'));
    const done = handOver.deliver(decrypted());
    await clock.untilSleeping();
    await clock.advanceMs(60_000);
    expect(await done).toBe('received');
    expect(refusals).toEqual([]);
  });

  it('that core refuses finally is given up at once', async () => {
    refusals = [new SendRefusedError('never')];
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
    refusals = [new StorageUnavailableError('no database')];
    const done = handOver.deliver(decrypted());
    await clock.untilSleeping();
    handOver.stop();
    expect(await done).toBe('stopped');
    expect(received).toEqual([]);
  });
});
