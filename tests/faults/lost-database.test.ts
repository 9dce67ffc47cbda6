import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, untilState } from '../support/pairing.ts';
import { Stage } from '../support/stage.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

let stage: Stage;
let way: TcpProxy;

beforeEach(async () => {
  stage = await Stage.set();
  way = await TcpProxy.to(stage.database.url);
  const service = await stage.startService({
    DATABASE_URL: way.through(stage.database.url),
    WA2AI_LEASE_TTL_MS: '4000',
  });
  await pairByQr(service, stage.phone, stage.emulator);
  await service.addRoute('*', stage.agent.url);
});

afterEach(async () => {
  await stage.strike();
  await way.close();
});

describe('a database that is away', () => {
  it.each([
    ['cut', 'mend'],
    ['silence', 'mend'],
    ['silence', 'replace'],
  ] as const)(
    'stops intake, is said so, and all goes on by itself when it is back (%s, %s)',
    { timeout: 180_000 },
    async (how, back) => {
      const ana = stage.person();
      await ana.say('before', { to: stage.phone });
      await ana.nextReply();
      const closed = stage.emulator.waitFor('closed', undefined, 30_000);
      way[how]();
      await closed;
      const { status, body } = await stage.service.api('GET', '/health/ready');
      expect(status).toBe(503);
      expect(body.reasons).toContainEqual({ name: 'database', message: 'The database does not answer.' });
      await stage.service.untilLog((line) => line.msg.startsWith('account lost'));
      await expect
        .poll(async () => (await stage.service.api('GET', '/api/accounts/default')).body.data, {
          timeout: 10_000,
        })
        .toMatchObject({ state: 'stopped', reason: expect.stringContaining('database does not answer') });
      // WhatsApp keeps what nobody acknowledged.
      await ana.say('while it is away', { to: stage.phone });
      const live = stage.emulator.waitFor('live', undefined, 90_000);
      way[back]();
      await live;
      expect((await ana.nextReply(30_000)).text).toBe('Echo: while it is away');
      await untilState(stage.service, 'open');
      await ana.say('after', { to: stage.phone });
      expect((await ana.nextReply(30_000)).text).toBe('Echo: after');
      expect(ana.received).toHaveLength(3);
      expect((await stage.service.api('GET', '/health/ready')).status).toBe(200);
      await expect
        .poll(async () => (await stage.service.api('GET', '/api/nodes')).body.data, { timeout: 30_000 })
        .toMatchObject([{ state: 'alive', accounts: [{ accountId: 'default' }] }]);
    },
  );
});
