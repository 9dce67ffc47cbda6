import { type Said, say } from './phrases.ts';

/** What all nodes know about versions. Times are epoch milliseconds. */
export interface StoredVersions {
  /** Every known version; a refused one has `refusedAtMs`. */
  versions: ReadonlyArray<{ version: string; firstSeenMs: number; refusedAtMs?: number }>;
  /** The last look-up: its success if it had one, and whether one runs now on any node. */
  lookUp: { version?: string; url?: string; foundAtMs?: number; isRunning: boolean };
}

/** When a look-up is due: all nodes together make no more. */
export interface LookUpDue {
  /** The last success must be older, in milliseconds; 0: any. */
  maxAgeMs: number;
  /** The last attempt must have begun earlier than this many milliseconds ago. */
  minGapMs: number;
}

/** @throws {StorageUnavailableError} from every method; nothing was changed */
export interface ClientVersionStore {
  read(): Promise<StoredVersions>;
  /** Begins a look-up if it is due and none runs on any node. @returns false: do not look up now */
  begin(due: LookUpDue): Promise<boolean>;
  /** Ends a look-up. @param found absent: it failed, and the last success stays */
  end(found?: { version: string; url: string }): Promise<void>;
  /** Notes a version that a setting names, unless it is known. */
  see(version: string): Promise<void>;
  /** WhatsApp refuses the version, or accepts it again. The first refusal counts. */
  setRefused(version: string, isRefused: boolean): Promise<void>;
}

/** The version of WhatsApp Web that an account announces, and what is known of it. Times are epoch milliseconds. */
export interface ClientVersion {
  /** `2.3000.1043857760` */
  version: string;
  /** `built-in`: part of Baileys · `look-up`: found at WhatsApp · `setting`: WA2AI_WHATSAPP_VERSION. */
  source: 'built-in' | 'look-up' | 'setting';
  /** When WhatsApp built it; for a version that is not built in, when wa2ai first saw it. */
  sinceMs: number;
  /** WhatsApp refuses it since then; absent: it does not. */
  refusedSinceMs?: number;
}

/**
 * The version in Baileys, and the day on which WhatsApp built it: version 1.5.4908 of the npm package
 * @wppconnect/wa-version lists the build before it (…1043850389) with this day and the one after it (…1043861459) with the
 * morning of the next one. A test fails when the installed Baileys has another version.
 */
export const BUILT_IN = { version: '2.3000.1043857760', builtAtMs: Date.UTC(2026, 6, 25) };

const DAY_MS = 86_400_000;
/** WhatsApp refused both earlier versions of Baileys at an age of 135 days: six weeks are left to act. */
const OLD_DAYS = 90;
const REFUSED_DAYS = 135;

/** Age in whole days; 0 when this machine's clock is behind. */
export function ageDaysOf({ sinceMs }: Pick<ClientVersion, 'sinceMs'>, nowMs: number): number {
  return Math.max(Math.floor((nowMs - sinceMs) / DAY_MS), 0);
}

/** One sentence about a version that WhatsApp may soon refuse; undefined: it is young enough. */
export function ageProblem(version: ClientVersion, nowMs: number): Said | undefined {
  const days = ageDaysOf(version, nowMs);
  if (days < OLD_DAYS) return undefined;
  return say('client.old', { version: version.version, days, refusedDays: REFUSED_DAYS });
}

/** The code of the sentence where a version comes from. */
export const VERSION_SOURCES: Record<
  ClientVersion['source'],
  'client.built-in' | 'client.found' | 'client.set'
> = {
  'built-in': 'client.built-in',
  'look-up': 'client.found',
  setting: 'client.set',
};
