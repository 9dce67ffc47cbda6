import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, untilState } from '../support/pairing.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
let way: TcpProxy;

beforeEach(async () => {
  bed = await TestBed.start();
  way = await TcpProxy.to(bed.database.url);
  const service = await bed.startService({
    DATABASE_URL: way.through(bed.database.url),
    WA2AI_LEASE_TTL: '4s',
  });
  await pairByQr(service, bed.phone, bed.emulator);
  await service.addRoute('*', bed.agent.url);
});

afterEach(async () => {
  await bed.close();
  await way.close();
});

describe('wa2ai without its database', () => {
  it.each([
    ['cut', 'restore'],
    ['silence', 'restore'],
    ['silence', 'replace'],
  ] as const)(
    'stops receiving, reports the reason, and resumes automatically when it is back (%s, %s)',
    { timeout: 180_000 },
    async (how, back) => {
      const ana = bed.person();
      await ana.say('before', { to: bed.phone });
      await ana.nextReply();
      const closed = bed.emulator.waitFor('closed');
      way[how]();
      await closed;
      const { status, body } = await bed.service.api('GET', '/health/ready');
      expect(status).toBe(503);
      expect(body.reasons).toContainEqual({ name: 'database', message: 'The database does not answer.' });
      await bed.service.untilLog((line) => line.msg.startsWith('account lost'));
      await expect
        .poll(async () => (await bed.service.api('GET', '/api/accounts/default')).body.data, {
          timeout: 10_000,
        })
        .toMatchObject({ state: 'stopped', reason: expect.stringContaining('database does not answer') });
      // WhatsApp queues what was not acknowledged
      await ana.say('while it is away', { to: bed.phone });
      const live = bed.emulator.waitFor('live', undefined, 90_000);
      way[back]();
      await live;
      expect((await ana.nextReply()).text).toBe('Echo: while it is away');
      await untilState(bed.service, 'open');
      await ana.say('after', { to: bed.phone });
      expect((await ana.nextReply()).text).toBe('Echo: after');
      expect(ana.received).toHaveLength(3);
      expect((await bed.service.api('GET', '/health/ready')).status).toBe(200);
      await expect
        .poll(async () => (await bed.service.api('GET', '/api/nodes')).body.data, { timeout: 60_000 })
        .toMatchObject([{ state: 'alive', accounts: [{ accountId: 'default' }] }]);
    },
  );
});
