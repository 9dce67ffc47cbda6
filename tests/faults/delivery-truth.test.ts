import { afterEach, describe, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import { TestBed } from '../support/test-bed.ts';

let close: () => Promise<void>;

afterEach(async () => {
  await close();
});

describe('A reply given up because WhatsApp never acknowledged it', () => {
  it('counts as delivered when a receipt arrives later: it is not sent again and its dead letter is closed', async () => {
    const bed = await TestBed.startPaired({ env: { WA2AI_ACK_TIMEOUT: '1s' } });
    close = () => bed.close();
    const ana = bed.person({ habit: { receipts: 'hold' } });
    // Five sends arrive at the phone; their acks get lost, and the phone's receipt is late.
    bed.emulator.faults.withheldAcks = 5;
    const id = await ana.say('are you there?', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: are you there?');
    await bed.service.untilLog((line) => line.msg === 'reply never acknowledged', 60_000);
    const letters = async (state: string) =>
      (await bed.service.api('GET', `/api/dead-letters?state=${state}`)).body.data as unknown[];
    expect(await letters('open')).toMatchObject([{ reason: 'never-acknowledged' }]);
    const replies = async () => ((await bed.message(id))?.replies ?? []) as Array<Record<string, unknown>>;
    expect(await replies()).toMatchObject([{ state: 'dead' }]);

    ana.releaseReceipts();
    await expect.poll(replies).toMatchObject([{ state: 'delivered' }]);
    expect(await letters('open')).toEqual([]);
    expect(await letters('replayed')).toMatchObject([
      { reason: 'never-acknowledged', error: expect.stringMatching(/acknowledged it later/) },
    ]);
    const live = bed.emulator.waitFor('live');
    bed.emulator.drop();
    await live;
    await ana.say('thanks', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: thanks');
    expect(ana.received.map(({ text, repeats }) => [text, repeats])).toEqual([
      ['Echo: are you there?', 4],
      ['Echo: thanks', 0],
    ]);
  });
});

describe('An account of which WhatsApp locks messages to new contacts', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'is limited on the node that takes it over too, until the same time (%s)',
    async (signal) => {
      const { bed, nodes } = await startNodeCluster(['n1', 'n2'], { env: { WA2AI_LEASE_TTL: '4s' } });
      close = async () => {
        await nodes.endAll('SIGKILL');
        await bed.close();
      };
      await nodes.pair(bed.phone);
      const [stranger, another] = [bed.person(), bed.person()];
      const send = (to: string, via: string) =>
        nodes.node(via).api('POST', '/api/messages', { channelId: to, text: 'Good morning' });
      const owner = await nodes.untilOwned();
      bed.emulator.faults.reachOutLock = { endsAtMs: Date.now() + 3_600_000, type: 'WEB_COMPANION_ONLY' };
      await send(stranger.phone, owner);
      await expect.poll(async () => (await nodes.account()).state, { timeout: 60_000 }).toBe('restricted');
      const until = Date.parse(String((await nodes.account()).retryAt));

      await nodes.end(owner, signal);
      const successor = await nodes.untilOwned('default', [owner]);
      await expect.poll(async () => (await nodes.account()).state, { timeout: 60_000 }).toBe('restricted');
      expect(Math.abs(Date.parse(String((await nodes.account()).retryAt)) - until)).toBeLessThan(30_000);
      const delayed = nodes
        .node(successor)
        .untilLog((line) => String(line.msg).startsWith('message to a new contact delayed'));
      await send(another.phone, successor);
      await delayed;
      expect([...stranger.received, ...another.received]).toEqual([]);
    },
  );
});
