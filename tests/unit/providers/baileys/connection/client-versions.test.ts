import { describe, expect, it, onTestFinished } from 'vitest';
import { BUILT_IN, type ClientVersion } from '../../../../../router/src/core/client-version.ts';
import {
  ClientVersions,
  type FetchPage,
  type VersionWait,
} from '../../../../../router/src/providers/baileys/connection/client-versions.ts';
import { MemoryClientVersions } from '../../../../doubles/memory-client-versions.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

type Page = Awaited<ReturnType<FetchPage>>;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const NEWER = 1_047_000_001;
const NEWEST = 1_048_000_001;

interface Served {
  revision: number | undefined;
  lookUps: number;
}

function setup(
  more: {
    setting?: ConstructorParameters<typeof ClientVersions>[0]['setting'];
    served?: Served;
    store?: MemoryClientVersions;
    clock?: FakeClock;
    ways?: ConstructorParameters<typeof ClientVersions>[0]['ways'];
  } = {},
) {
  const { setting = 'auto', clock = new FakeClock(Date.UTC(2026, 11, 8)) } = more;
  const { store = new MemoryClientVersions(clock), served = { revision: undefined, lookUps: 0 } } = more;
  const log = recordingLog();
  const fetchPage = async (): Promise<Page> => {
    served.lookUps += 1;
    if (served.revision === undefined) return { kind: 'fault', detail: { sentence: 'cannot be reached' } };
    const body = Buffer.from(`"client_revision":${served.revision}`);
    return { kind: 'answer', status: 200, headers: new Headers(), body };
  };
  const versions = new ClientVersions({
    setting,
    url: 'https://web.example/sw.js?key=secret',
    ways: async (accountIds) => more.ways?.(accountIds) ?? [fetchPage],
    store,
    clock,
    log,
    random: () => 0.5,
  });
  onTestFinished(() => versions.stop());
  return { versions, served, store, clock, log };
}

/** An account that WhatsApp refuses: it says so and waits. */
async function refuse(versions: ClientVersions, accountId = 'default') {
  const refused = await versions.choose();
  await versions.refused(refused);
  const waits: VersionWait[] = [];
  const stopped = new AbortController();
  onTestFinished(() => stopped.abort());
  const state = { isOver: false, waits, refused };
  void versions
    .untilOther(refused, { accountId, signal: stopped.signal, onWait: (wait) => waits.push(wait) })
    .then(() => {
      state.isOver = true;
    });
  await settle();
  return state;
}

const versionOf = (revision: number) => `2.3000.${revision}`;
const chosen = async (versions: ClientVersions) => (await versions.choose()).version;

describe('the daily look-up', () => {
  it('finds a newer version, which counts from when it was first seen', async () => {
    const { versions, served, clock } = setup();
    served.revision = NEWER;
    versions.start();
    await settle();
    const expected: ClientVersion = { version: versionOf(NEWER), source: 'look-up', sinceMs: clock.now() };
    expect(await versions.choose()).toEqual(expected);
    await clock.advanceMs(2 * HOUR_MS);
    expect(await versions.choose()).toEqual(expected);
  });

  it('is made once a day by all nodes, and all use it', async () => {
    const one = setup();
    const { served, clock, store } = one;
    served.revision = NEWER;
    const other = setup({ served, clock, store });
    one.versions.start();
    other.versions.start();
    await settle();
    expect(served.lookUps).toBe(1);
    expect([await chosen(one.versions), await chosen(other.versions)]).toEqual([
      versionOf(NEWER),
      versionOf(NEWER),
    ]);
    await clock.advanceMs(10 * DAY_MS);
    expect(served.lookUps).toBeGreaterThanOrEqual(10);
    expect(served.lookUps).toBeLessThanOrEqual(11);
    served.revision = NEWEST;
    await clock.advanceMs(DAY_MS + HOUR_MS);
    expect([await chosen(one.versions), await chosen(other.versions)]).toEqual([
      versionOf(NEWEST),
      versionOf(NEWEST),
    ]);
  });

  it('is made at a start when the stored one is older than a day, and not before', async () => {
    const { served, clock, store } = setup();
    served.revision = NEWER;
    await store.begin({ maxAgeMs: 0, minGapMs: 0 });
    await store.end({ version: versionOf(NEWER), url: 'https://web.example/sw.js' });
    setup({ served, clock, store }).versions.start();
    await settle();
    expect(served.lookUps).toBe(0);
    await clock.advanceMs(DAY_MS + 1);
    const before = served.lookUps;
    setup({ served, clock, store: new MemoryClientVersions(clock) }).versions.start();
    await settle();
    expect(served.lookUps).toBe(before + 1);
  });

  it('that fails is repeated every hour, and leaves the built-in version', async () => {
    const { versions, served, clock, log } = setup();
    versions.start();
    await settle();
    expect(await versions.choose()).toMatchObject({ version: BUILT_IN.version, source: 'built-in' });
    expect(log.lines.map(({ message }) => message)).toContain('current version of WhatsApp Web not found');
    expect(JSON.stringify(log.lines)).not.toContain('secret');
    await clock.advanceMs(3 * HOUR_MS);
    expect(served.lookUps).toBe(4);
    served.revision = NEWER;
    await clock.advanceMs(HOUR_MS);
    expect(await chosen(versions)).toBe(versionOf(NEWER));
  });

  it.each([1_043_857_760, 1_043_857_759, 7, 9_999_999_999, 3_000_000_000])(
    'does not take the number %i, which is not newer or not plausible',
    async (revision) => {
      const { versions, served } = setup();
      served.revision = revision;
      versions.start();
      await settle();
      expect(served.lookUps).toBe(1);
      expect(await versions.choose()).toMatchObject({ version: BUILT_IN.version, source: 'built-in' });
    },
  );

  it.each(['built-in', [2, 3000, 1_040_000_000]] as const)(
    'is not made with the setting %s',
    async (setting) => {
      const { versions, served, clock } = setup({ setting });
      versions.start();
      const account = await refuse(versions);
      await clock.advanceMs(3 * DAY_MS);
      expect(served.lookUps).toBe(0);
      expect(account.isOver).toBe(false);
      expect(account.waits.every(({ retryAtMs }) => retryAtMs === undefined)).toBe(true);
    },
  );

  it('has a version of the setting as old as the built-in one when its number is lower', async () => {
    const { versions } = setup({ setting: [2, 3000, 1_040_000_000] });
    expect(await versions.choose()).toEqual({
      version: '2.3000.1040000000',
      source: 'setting',
      sinceMs: BUILT_IN.builtAtMs,
    });
  });
});

describe('a refused version', () => {
  it('is replaced at once by what WhatsApp has now', async () => {
    const { versions, served } = setup();
    served.revision = NEWER;
    const account = await refuse(versions);
    expect(account).toMatchObject({ isOver: true, refused: { version: BUILT_IN.version } });
    expect(served.lookUps).toBe(1);
    expect(await chosen(versions)).toBe(versionOf(NEWER));
  });

  it('is replaced without a look-up by a newer version that another node has found', async () => {
    const one = setup();
    const { served, clock, store } = one;
    served.revision = NEWER;
    expect(await chosen(one.versions)).toBe(BUILT_IN.version);
    const other = setup({ served, clock, store });
    other.versions.start();
    await settle();
    await one.versions.refused(one.versions.known({ version: BUILT_IN.version, source: 'built-in' }));
    const stopped = new AbortController();
    const refused = one.versions.known({ version: BUILT_IN.version, source: 'built-in' });
    await one.versions.untilOther(refused, {
      accountId: 'default',
      signal: stopped.signal,
      onWait: () => undefined,
    });
    expect(served.lookUps).toBe(1);
  });

  it('makes the account ask again with growing waits, and says since when, which version and where it asks', async () => {
    const { versions, served, clock } = setup();
    served.revision = Number(BUILT_IN.version.split('.')[2]);
    const refusedAtMs = clock.now();
    const account = await refuse(versions);
    const gaps: number[] = [];
    for (let look = 0; look < 12; look++) {
      const { retryAtMs = 0 } = account.waits.at(-1) ?? {};
      gaps.push(retryAtMs - clock.now());
      await clock.advanceMs(retryAtMs - clock.now());
    }
    expect(served.lookUps).toBe(13);
    expect(gaps.slice(0, 3)).toEqual([7_500, 15_000, 30_000]);
    expect(gaps.at(-1)).toBe(2_700_000);
    expect(account.isOver).toBe(false);
    const since = `${new Date(refusedAtMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
    expect(account.waits.at(-1)?.reason).toBe(
      `WhatsApp refuses the client version ${BUILT_IN.version} since ${since}. It is part of Baileys. No newer version was found at web.example.`,
    );
    served.revision = NEWER;
    await clock.advanceMs(HOUR_MS);
    expect(account.isOver).toBe(true);
  });

  it('shares its look-ups with the other accounts of the node', async () => {
    const { versions, served, clock } = setup();
    const accounts = await Promise.all([refuse(versions), refuse(versions), refuse(versions)]);
    expect(served.lookUps).toBe(1);
    await clock.advanceMs(7_500);
    expect(served.lookUps).toBe(2);
    served.revision = NEWER;
    await clock.advanceMs(15_000);
    expect(accounts.map(({ isOver }) => isOver)).toEqual([true, true, true]);
    expect(served.lookUps).toBe(3);
  });

  it('asks by the ways of the accounts that wait, and by the next way after a failure', async () => {
    const asked: string[] = [];
    const served = { revision: undefined as number | undefined, lookUps: 0 };
    const wayOf = (accountId: string) => async (): Promise<Page> => {
      asked.push(accountId);
      if (accountId === 'down' || served.revision === undefined)
        return {
          kind: 'fault',
          detail: { sentence: 'The proxy of this account does not answer (ECONNREFUSED).' },
        };
      const body = Buffer.from(`"client_revision":${served.revision}`);
      return { kind: 'answer', status: 200, headers: new Headers(), body };
    };
    const ways = async (accountIds?: ReadonlySet<string>) => [...(accountIds ?? ['every'])].sort().map(wayOf);
    const { versions, clock, log } = setup({ served, ways });
    const accounts = [await refuse(versions, 'down'), await refuse(versions, 'up')];
    expect(asked).toEqual(['down']);
    expect(JSON.stringify(log.lines)).toContain('The proxy of this account does not answer (ECONNREFUSED).');
    served.revision = NEWER;
    await clock.advanceMs(15_000);
    expect(asked).toEqual(['down', 'up']);
    expect(accounts.map(({ isOver }) => isOver)).toEqual([true, true]);
    versions.start();
    await settle();
    for (let hour = 0; hour <= 25; hour += 1) await clock.advanceMs(HOUR_MS);
    expect(asked.at(-1)).toBe('every');
  });

  it('shares its look-ups with the accounts of other nodes', async () => {
    const one = setup();
    const { served, clock, store } = one;
    served.revision = NEWER;
    const other = setup({ served, clock, store });
    const refusals = [one, other].map(({ versions }) => refuse(versions));
    const accounts = await Promise.all(refusals);
    await clock.advanceMs(1_000);
    expect(accounts.map(({ isOver }) => isOver)).toEqual([true, true]);
    expect(served.lookUps).toBe(1);
  });

  it('is not used again by any node, and the built-in one is used instead of a looked-up one', async () => {
    const { versions, served, clock, store } = setup();
    served.revision = NEWER;
    versions.start();
    await settle();
    const account = await refuse(versions);
    expect(account).toMatchObject({ refused: { version: versionOf(NEWER) }, isOver: true });
    const other = setup({ served, clock, store });
    expect(await other.versions.choose()).toMatchObject({ version: BUILT_IN.version, source: 'built-in' });
    served.revision = NEWEST;
    await clock.advanceMs(2 * DAY_MS);
    expect(await chosen(other.versions)).toBe(versionOf(NEWEST));
  });

  it('counts as accepted again when an account logs in with it', async () => {
    const { versions, clock } = setup();
    const account = await refuse(versions);
    await versions.accepted(account.refused);
    expect((await versions.choose()).refusedSinceMs).toBeUndefined();
    await clock.advanceMs(HOUR_MS);
    expect(account.isOver).toBe(true);
  });

  it('is not announced again although the database does not store its refusal', async () => {
    const { versions, store, clock } = setup();
    store.setRefused = async () => {
      throw new Error('no database');
    };
    const account = await refuse(versions);
    await clock.advanceMs(HOUR_MS);
    expect(account.isOver).toBe(false);
  });
});
