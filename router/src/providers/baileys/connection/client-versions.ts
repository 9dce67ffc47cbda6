import {
  BUILT_IN,
  type ClientVersion,
  type ClientVersionStore,
  type StoredVersions,
  VERSION_SOURCES,
} from '../../../core/client-version.ts';
import { backoffMs, type Clock, withLimit } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import { because, type Reason, type Said, say, together } from '../../../core/phrases.ts';

/** A version of WhatsApp Web as Baileys takes it. */
type Version = readonly [number, number, number];

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** WhatsApp counts about 70,000 revisions a day: no real one is further ahead of the built-in one. */
const MAX_AHEAD = 500_000_000;
/** How often a node checks whether the daily look-up is due; also the time between failed ones. */
const CHECK_EVERY_MS = HOUR_MS;
/** Failed daily look-ups of all nodes are at least this far apart. */
const FAILED_GAP_MS = 50 * 60_000;
/** A refusal this soon after a look-up for a refusal gets the result of that one. */
const SHARED_MS = 5_000;
/** First and longest wait for a newer version. */
const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = HOUR_MS;
/** How long a look-up of another node is waited for, and how often its end is checked. */
const OTHER_NODE_MS = 15_000;
const OTHER_NODE_POLL_MS = 500;

const NOTHING_STORED: StoredVersions = { versions: [], lookUp: { isRunning: false } };

interface ClientVersionsOptions {
  /** `auto`: what WhatsApp serves, when it is newer than the built-in one · `built-in` · always this one. */
  setting: 'auto' | 'built-in' | Version;
  /** The service worker of WhatsApp Web, for `auto`. */
  url: string;
  /**
   * The ways to the page: directly, or through a proxy. None when there is no account yet.
   * @param accountIds whose ways; absent: those of all accounts. An account with a proxy has no other way.
   */
  ways(accountIds?: ReadonlySet<string>): Promise<FetchPage[]>;
  store: ClientVersionStore;
  clock: Clock;
  log: Logger;
  random(): number;
}

interface UntilOther {
  /** The account that waits. */
  accountId: string;
  signal: AbortSignal;
  /** Called before each wait. */
  onWait(wait: VersionWait): void;
}

/** What an account shows while it waits for another version. */
export interface VersionWait extends Reason {
  /** When WhatsApp is asked for a newer version again; absent: only an operator can change the version. */
  retryAtMs?: number;
}

/**
 * Which version of WhatsApp Web the accounts of this node announce. Look-ups run beside connections, once a day for all
 * nodes, and when WhatsApp refuses a version; a result is used from the next login on.
 */
export class ClientVersions {
  readonly #options: ClientVersionsOptions;
  readonly #stopping = new AbortController();
  #stored = NOTHING_STORED;
  #running: Promise<void> | undefined;
  #lookingUp: Promise<void> | undefined;
  #lookingForOther: Promise<void> | undefined;
  /** Accounts that wait for another version. */
  readonly #waiting = new Set<string>();
  /** Look-ups that failed in a row: the next one takes the next way. */
  #failed = 0;
  /** Refusals that the database does not have, with their time. */
  readonly #unstored = new Map<string, number>();
  /** Look-ups for refusals since the last new version, and when the next one is due, on the monotonic clock. */
  #attempt = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #nextAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClientVersionsOptions) {
    this.#options = options;
  }

  /** Begins the daily look-ups; returns immediately. */
  start(): void {
    if (this.#options.setting === 'auto') this.#running = this.#keepLooking();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#running, this.#lookingUp?.catch(() => undefined)]);
  }

  /**
   * The version for the next login: the highest one that WhatsApp does not refuse; when it refuses all, the highest one.
   * @throws {StorageUnavailableError} what all nodes know cannot be read
   */
  async choose(): Promise<ClientVersion> {
    const { setting, store } = this.#options;
    if (typeof setting === 'object') await this.#see(textOf(setting));
    this.#stored = await store.read();
    return this.#chosen();
  }

  /** What is known of a version now. */
  known({ version, source }: Pick<ClientVersion, 'version' | 'source'>): ClientVersion {
    const stored = this.#stored.versions.find((each) => each.version === version);
    const isBuiltIn = version === BUILT_IN.version;
    const sinceMs = isBuiltIn ? BUILT_IN.builtAtMs : (stored?.firstSeenMs ?? this.#options.clock.now());
    // WhatsApp builds no lower number later.
    const isOlder = compare(version, BUILT_IN.version) < 0;
    const refusedSinceMs = stored?.refusedAtMs ?? this.#unstored.get(version);
    return {
      version,
      source,
      sinceMs: isOlder ? Math.min(sinceMs, BUILT_IN.builtAtMs) : sinceMs,
      ...(refusedSinceMs !== undefined && { refusedSinceMs }),
    };
  }

  /** WhatsApp refused a login with this version; all nodes know it from now on. */
  async refused({ version, source }: ClientVersion): Promise<void> {
    const { clock, log } = this.#options;
    log.warn({ version, source }, 'WhatsApp refuses this client version');
    await this.#store(version, true);
    if (clock.monotonicMs() - this.#lookedAtMs > SHARED_MS) this.#nextAtMs = clock.monotonicMs();
  }

  /** WhatsApp accepted a login with this version. */
  async accepted({ version }: ClientVersion): Promise<void> {
    this.#attempt = 0;
    if (this.known({ version, source: 'built-in' }).refusedSinceMs !== undefined) {
      await this.#store(version, false);
    }
  }

  /**
   * Looks for another version than a refused one, with a growing wait between look-ups, until there is one or `signal`
   * aborts. Never rejects.
   */
  async untilOther(refused: ClientVersion, { accountId, signal, onWait }: UntilOther): Promise<void> {
    this.#waiting.add(accountId);
    try {
      await this.#untilOther(refused, signal, onWait);
    } finally {
      this.#waiting.delete(accountId);
    }
  }

  async #untilOther(
    refused: ClientVersion,
    signal: AbortSignal,
    onWait: UntilOther['onWait'],
  ): Promise<void> {
    const { clock, log } = this.#options;
    const isAuto = this.#options.setting === 'auto';
    onWait(this.#waitOf(refused, isAuto ? clock.now() : undefined));
    while (!signal.aborted) {
      try {
        if (isOther(await this.choose(), refused)) return;
        if (isAuto && clock.monotonicMs() >= this.#nextAtMs) {
          await this.#lookUpForRefusal();
          if (isOther(await this.choose(), refused)) return;
        }
      } catch (error) {
        log.debug({ err: error }, 'versions of WhatsApp Web not read, retrying');
      }
      const waitMs = isAuto ? Math.max(this.#nextAtMs - clock.monotonicMs(), 1_000) : CHECK_EVERY_MS;
      onWait(this.#waitOf(refused, isAuto ? Math.round(clock.now() + waitMs) : undefined));
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }

  async #keepLooking(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        const minGapMs = round === 0 ? 0 : FAILED_GAP_MS;
        await this.#lookUp({ maxAgeMs: DAY_MS, minGapMs });
      } catch (error) {
        log.debug({ err: error }, 'look-up of the WhatsApp version not begun');
      }
      await clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
    }
  }

  /** One for all accounts that wait. */
  #lookUpForRefusal(): Promise<void> {
    this.#lookingForOther ??= this.#lookForOther().finally(() => {
      this.#lookingForOther = undefined;
    });
    return this.#lookingForOther;
  }

  async #lookForOther(): Promise<void> {
    const { clock, store, random } = this.#options;
    this.#lookedAtMs = clock.monotonicMs();
    try {
      const isOwn = await this.#lookUp({ maxAgeMs: 0, minGapMs: 0 }, this.#waiting);
      const untilMs = clock.monotonicMs() + OTHER_NODE_MS;
      while (!isOwn && clock.monotonicMs() < untilMs && (await store.read()).lookUp.isRunning) {
        await clock.sleep(OTHER_NODE_POLL_MS, this.#stopping.signal);
      }
    } finally {
      this.#attempt += 1;
      const limits = { attempt: this.#attempt, baseMs: FIRST_WAIT_MS, maxMs: MAX_WAIT_MS };
      const waitMs = (backoffMs({ ...limits, random: () => 1 }) + backoffMs({ ...limits, random })) / 2;
      this.#nextAtMs = clock.monotonicMs() + waitMs;
    }
  }

  /** One look-up at a time on this node. @returns false: it is not due, or another node makes it */
  async #lookUp(
    due: { maxAgeMs: number; minGapMs: number },
    accountIds?: ReadonlySet<string>,
  ): Promise<boolean> {
    if (this.#lookingUp) {
      await this.#lookingUp;
      return true;
    }
    let isBegun = false;
    this.#lookingUp = (async () => {
      isBegun = await this.#options.store.begin(due);
      if (isBegun) await this.#lookUpNow(accountIds);
    })().finally(() => {
      this.#lookingUp = undefined;
    });
    await this.#lookingUp;
    return isBegun;
  }

  async #lookUpNow(accountIds?: ReadonlySet<string>): Promise<void> {
    const { url, ways, store, clock, log } = this.#options;
    const all = await ways(accountIds);
    const fetchPage = all[this.#failed % all.length];
    if (!fetchPage) return store.end();
    const read = await readClientRevision(url, { fetchPage, clock, signal: this.#stopping.signal });
    const isPlausible = read.kind === 'found' && Math.abs(read.revision - BUILT_IN_REVISION) <= MAX_AHEAD;
    if (isPlausible) {
      const version = `2.3000.${read.revision}`;
      this.#failed = 0;
      const isNew = this.#stored.lookUp.version !== version;
      if (isNew) log.info({ version, url: shownUrl(url) }, 'current version of WhatsApp Web found');
      await store.end({ version, url: shownUrl(url) });
    } else if (this.#stopping.signal.aborted) {
      await store.end();
    } else {
      this.#failed += 1;
      const problem = read.kind === 'found' ? `it names revision ${read.revision}` : read.problem;
      log.warn({ url: shownUrl(url), problem }, 'current version of WhatsApp Web not found');
      await store.end();
    }
  }

  #chosen(): ClientVersion {
    const candidates = this.#candidates().map((each) => this.known(each));
    const accepted = candidates.find(({ refusedSinceMs }) => refusedSinceMs === undefined);
    return accepted ?? candidates[0] ?? this.known({ version: BUILT_IN.version, source: 'built-in' });
  }

  /** Highest first. */
  #candidates(): Array<Pick<ClientVersion, 'version' | 'source'>> {
    const { setting } = this.#options;
    const builtIn = { version: BUILT_IN.version, source: 'built-in' as const };
    if (setting === 'built-in') return [builtIn];
    if (setting !== 'auto') return [{ version: textOf(setting), source: 'setting' }];
    const found = this.#stored.lookUp.version;
    if (found === undefined || compare(found, BUILT_IN.version) <= 0) return [builtIn];
    return [{ version: found, source: 'look-up' }, builtIn];
  }

  #waitOf(refused: ClientVersion, retryAtMs: number | undefined): VersionWait {
    const { refusedSinceMs = this.#options.clock.now() } = this.known(refused);
    const said = [
      say('client.refused-since', { version: refused.version, since: timeText(refusedSinceMs) }),
      say(VERSION_SOURCES[refused.source]),
    ];
    const { setting, url } = this.#options;
    if (setting !== 'auto') return because(together(said));
    const { version } = this.#stored.lookUp;
    const at = hostOf(url);
    const isKnown = version === undefined || version === refused.version;
    said.push(isKnown ? say('client.no-newer', { at }) : say('client.current', { at, version }));
    return { ...because(together(said)), ...(retryAtMs !== undefined && { retryAtMs }) };
  }

  async #see(version: string): Promise<void> {
    if (!this.#stored.versions.some((each) => each.version === version))
      await this.#options.store.see(version);
  }

  async #store(version: string, isRefused: boolean): Promise<void> {
    const { store, clock, log } = this.#options;
    this.#unstored.delete(version);
    try {
      await store.setRefused(version, isRefused);
      this.#stored = await store.read();
    } catch (error) {
      if (isRefused) this.#unstored.set(version, clock.now());
      log.warn({ err: error, version }, 'refusal of a client version not stored');
    }
  }
}

const BUILT_IN_REVISION = Number(BUILT_IN.version.split('.')[2]);

/** As Baileys takes it. */
export function tripleOf(version: string): Version {
  const [primary = 0, secondary = 0, tertiary = 0] = version.split('.').map(Number);
  return [primary, secondary, tertiary];
}

function textOf(version: Version): string {
  return version.join('.');
}

/** Below 0 when `a` is lower. */
function compare(a: string, b: string): number {
  const [x, y] = [tripleOf(a), tripleOf(b)];
  return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
}

function isOther(chosen: ClientVersion, refused: ClientVersion): boolean {
  return chosen.version !== refused.version || chosen.refusedSinceMs === undefined;
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** Without a query, which may have a secret. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function timeText(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_000_000;
const MAX_REDIRECTS = 3;
/** WhatsApp answers other clients than browsers with an error page. */
const HEADERS = {
  'sec-fetch-site': 'none',
  'user-agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
};
/** In the page it is JSON within a string. */
const REVISION = /\\?"client_revision\\?":\s{0,9}(\d{1,15})(?!\d)/;

/** An HTTP answer, or why there is none. */
type Page =
  | { kind: 'answer'; status: number; headers: Headers; body: Buffer }
  | { kind: 'fault'; detail: Said };

/** One GET without redirects; the answer is at most `maxBytes` long. Never rejects. */
export type FetchPage = (
  url: string,
  options: { headers: Headers; signal: AbortSignal; maxBytes: number },
) => Promise<Page>;

interface ReadRevisionDeps {
  fetchPage: FetchPage;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Reads the client revision, the last number of the version, that WhatsApp Web has now: the first one in its service
 * worker (`sw.js`). Takes at most 10 s and 1 MB, and follows redirects on the same host only. Never rejects.
 */
export async function readClientRevision(
  url: string,
  { fetchPage, clock, signal }: ReadRevisionDeps,
): Promise<{ kind: 'found'; revision: number } | { kind: 'failed'; problem: string }> {
  const page = await withLimit(clock, TIMEOUT_MS, signal, (limited) => follow(url, fetchPage, limited));
  if (page.kind === 'fault') return { kind: 'failed', problem: page.detail.sentence };
  if (page.status !== 200) return { kind: 'failed', problem: `status ${page.status}` };
  const revision = REVISION.exec(page.body.toString('latin1'))?.[1];
  if (revision === undefined) return { kind: 'failed', problem: 'it names no client_revision' };
  return { kind: 'found', revision: Number(revision) };
}

async function follow(address: string, fetchPage: FetchPage, signal: AbortSignal): Promise<Page> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const page = await fetchPage(url.href, { headers: new Headers(HEADERS), signal, maxBytes: MAX_BYTES });
    if (signal.aborted)
      return { kind: 'fault', detail: { sentence: `no answer in ${TIMEOUT_MS / 1_000} s` } };
    if (page.kind === 'fault' || page.status < 300 || page.status >= 400) return page;
    const location = page.headers.get('location') ?? '';
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (next?.origin !== url.origin)
      return { kind: 'fault', detail: { sentence: 'it redirects to another host' } };
    url = next;
  }
  return { kind: 'fault', detail: { sentence: `more than ${MAX_REDIRECTS} redirects` } };
}
