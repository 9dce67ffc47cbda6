import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../router/src/core/client-version.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const BUILT_IN_REVISION = Number(BUILT_IN.version.split('.')[2]);
const NEWER = BUILT_IN_REVISION + 3_000_000;
const versionOf = (revision: number) => `2.3000.${revision}`;

let close: () => Promise<void> = async () => undefined;

afterEach(async () => {
  await close();
  close = async () => undefined;
});

async function bedWith(env: Record<string, string> = {}): Promise<TestBed> {
  const bed = await TestBed.startPaired({ env });
  close = () => bed.close();
  return bed;
}

async function account(service: Wa2aiProcess): Promise<Record<string, unknown>> {
  const { body } = await service.api('GET', '/api/accounts/default');
  return body.data as Record<string, unknown>;
}

async function expectAnAnswer(person: Person, bed: TestBed, text: string): Promise<void> {
  await person.say(text, { to: bed.phone });
  expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
}

describe('An account whose client version WhatsApp refuses', () => {
  it('is healed without an operator when WhatsApp has a newer version', async () => {
    const bed = await bedWith();
    const ana = bed.person();
    await expectAnAnswer(ana, bed, 'before');
    expect((await account(bed.service)).clientVersion).toMatchObject({
      version: BUILT_IN.version,
      source: 'built-in',
      since: new Date(BUILT_IN.builtAtMs).toISOString(),
    });

    bed.emulator.versionPage.revision = NEWER;
    bed.emulator.faults.refusedBelow = NEWER;
    const refused = bed.emulator.waitFor('connected', ({ version }) => version === BUILT_IN.version);
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    bed.emulator.drop();
    await refused;
    await ana.say('while refused', { to: bed.phone });
    await live;
    expect((await ana.nextReply()).text).toBe('Echo: while refused');
    const clientVersion = { version: versionOf(NEWER), source: 'look-up', ageDays: 0 };
    expect(await account(bed.service)).toMatchObject({ state: 'open', clientVersion });
    expect(bed.emulator.versionPage.requests.at(-1)).toMatchObject({ 'sec-fetch-site': 'none' });

    // The version is stored: the next process announces it at once.
    await bed.service.end();
    const logins: string[] = [];
    bed.emulator.events.on('connected', ({ version }) => logins.push(version));
    await bed.restartService();
    expect(logins).toEqual([versionOf(NEWER)]);
    const metrics = await fetch(`${bed.service.url}/metrics`);
    expect(await metrics.text()).toMatch(
      new RegExp(
        `wa2ai_whatsapp_version_age_seconds\\{account="default",version="${versionOf(NEWER)}",source="look-up"\\} \\d`,
      ),
    );
  });

  it('asks again and does not log in while nothing newer is there, and says why; then it is healed', async () => {
    const bed = await bedWith();
    const ana = bed.person();
    const logins: string[] = [];
    bed.emulator.events.on('connected', ({ version }) => logins.push(version));
    bed.emulator.faults.refusedBelow = NEWER;
    bed.emulator.drop();
    const shown = await until('the time of the next look-up', async () => {
      const now = await account(bed.service);
      return now.state === 'outdated' && Date.parse(String(now.retryAt)) > Date.now() ? now : undefined;
    });
    expect(shown).toMatchObject({
      clientVersion: { version: BUILT_IN.version, source: 'built-in', refusedSince: expect.any(String) },
      nextAction: expect.stringMatching(/looks for a newer client version at /),
      reason: expect.stringMatching(
        /^WhatsApp refuses the client version \S+ since \S+ \S+ UTC\. It is part of Baileys\. No newer version was found at 127\.0\.0\.1:\d+\.$/,
      ),
    });
    // A start does not log in with the refused version either.
    await bed.service.end();
    const asked = once(bed.emulator.versionPage, 'request');
    await bed.startService();
    await asked;
    await untilState(bed.service, 'outdated');
    expect((await account(bed.service)).reason).toBe(shown.reason);
    expect(logins).toEqual([BUILT_IN.version]);

    bed.emulator.versionPage.revision = NEWER;
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    await live;
    await expectAnAnswer(ana, bed, 'after');
    expect(logins).toEqual([BUILT_IN.version, versionOf(NEWER)]);
  });

  it.each(['built-in', BUILT_IN.version])(
    'waits for an operator and asks nobody with the setting %s',
    async (setting) => {
      const bed = await bedWith({ WA2AI_WHATSAPP_VERSION: setting });
      const ana = bed.person();
      bed.emulator.versionPage.revision = NEWER;
      bed.emulator.faults.refusedBelow = NEWER;
      bed.emulator.drop();
      await untilState(bed.service, 'outdated');
      expect(await account(bed.service)).toMatchObject({
        nextAction: expect.stringMatching(/^Update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto/),
        reason: expect.stringMatching(/^WhatsApp refuses the client version/),
      });
      await bed.service.end();
      const logins: string[] = [];
      bed.emulator.events.on('connected', ({ version }) => logins.push(version));
      await bed.startService({ WA2AI_WHATSAPP_VERSION: setting });
      await untilState(bed.service, 'outdated');
      expect(logins).toEqual([]);
      // A login that an operator asked for uses the refused version once more.
      bed.emulator.faults.refusedBelow = 0;
      await bed.service.api('POST', '/api/accounts/default/restart', {});
      await untilState(bed.service, 'open');
      await expectAnAnswer(ana, bed, 'after');
      expect(logins).toEqual([BUILT_IN.version]);
      expect((await account(bed.service)).clientVersion).not.toHaveProperty('refusedSince');
      expect(bed.emulator.versionPage.requests).toHaveLength(0);
    },
  );

  it('can be linked: the look-up also serves an account without a phone', async () => {
    const bed = await TestBed.start();
    close = () => bed.close();
    bed.emulator.versionPage.revision = NEWER;
    bed.emulator.faults.refusedBelow = NEWER;
    const service = await bed.startService();
    await pairByQr(service, bed.phone, bed.emulator);
    expect(await account(service)).toMatchObject({ state: 'open', clientVersion: { source: 'look-up' } });
  });
});

describe('The look-up of the version', () => {
  it('is made once for two nodes, and both announce what it found', async () => {
    const { bed, nodes } = await startNodeCluster([]);
    close = async () => {
      await nodes.endAll('SIGTERM');
      await bed.close();
    };
    bed.emulator.versionPage.revision = NEWER;
    const asked = once(bed.emulator.versionPage, 'request');
    await nodes.addAll(['n1', 'n2']);
    await asked;
    await nodes.pair(bed.phone);
    const first = await nodes.untilOwned();
    const logins: string[] = [];
    bed.emulator.events.on('connected', ({ version }) => logins.push(version));
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    await nodes.end(first);
    await live;
    await nodes.untilOpen();
    expect(logins).toEqual([versionOf(NEWER)]);
    expect(await nodes.account()).toMatchObject({
      clientVersion: { version: versionOf(NEWER), source: 'look-up' },
    });
    expect(bed.emulator.versionPage.requests).toHaveLength(1);
  });

  it('does not delay a connection when its server does not answer', async () => {
    const bed = await TestBed.start();
    close = () => bed.close();
    bed.emulator.versionPage.answer = () => undefined;
    const service = await bed.startService();
    await pairByQr(service, bed.phone, bed.emulator);
    expect(service.lines.some(({ msg }) => msg === 'current version of WhatsApp Web not found')).toBe(false);
  });

  it('does not follow a redirect to another host, nor read an endless page', async () => {
    const bed = await TestBed.start();
    close = () => bed.close();
    bed.emulator.versionPage.redirect = `http://localhost:${bed.emulator.port}/sw.js`;
    let service = await bed.startService();
    const isProblem = (problem: RegExp) => (line: { msg: string; problem?: unknown }) =>
      line.msg === 'current version of WhatsApp Web not found' && problem.test(String(line.problem));
    await service.untilLog(isProblem(/redirects to another host/), 20_000);
    expect(bed.emulator.versionPage.requests).toHaveLength(1);
    await service.end();
    bed.emulator.versionPage.redirect = undefined;
    bed.emulator.versionPage.body = `${' '.repeat(1_000_001)}"client_revision":${NEWER}`;
    service = await bed.startService();
    await service.untilLog(isProblem(/larger than 1000000 bytes/), 20_000);
  });
});
