import { z } from 'zod';
import { PHRASES } from '../core/phrases.ts';

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/** Whether a host name or address, as written in a URL or setting, is this machine's loopback. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

/** Names the group of variables, which is their heading in docs/settings.md. */
export function group<T extends Record<string, z.ZodType>>(name: string, fields: T): T {
  const entries = Object.entries(fields).map(([key, field]) => [key, field.meta({ group: name })]);
  return Object.fromEntries(entries) as T;
}

/** A whole number in digits. */
export function wholeNumber(min: number, max: number) {
  const sentence = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d+$/, sentence)
    .transform(Number)
    .refine((value) => value >= min && value <= max, sentence)
    .meta({ values: `${min} to ${max}` });
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
};

const UNITS_BYTES: Readonly<Record<string, number>> = {
  ...{ kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 },
  ...{ kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 },
};

/** A number with its unit, such as `30s`, in the smallest unit; `0` needs none. NaN for another text. */
function amount(text: string, units: Readonly<Record<string, number>>): number {
  if (text === '0') return 0;
  const [, digits, unit = ''] = /^(\d{1,15})([A-Za-z]{1,3})$/.exec(text) ?? [];
  return Number(digits) * (units[unit] ?? Number.NaN);
}

const milliseconds = (text: string) => amount(text, UNITS_MS);
const bytes = (text: string) => amount(text.toLowerCase(), UNITS_BYTES);

/** A time such as `30s`, `5m` or `14d`, in milliseconds. */
export function duration(min: string, max: string) {
  return between(min, max, milliseconds, 'time', 'ms, s, m, h or d');
}

/** A time as a variable takes it, with the largest unit that has no fraction: 90000 ms are `90s`. */
export function writtenDuration(timeMs: number): string {
  const [unit, unitMs] = Object.entries(UNITS_MS).findLast(([, each]) => timeMs % each === 0) ?? ['ms', 1];
  return timeMs === 0 ? '0' : `${timeMs / unitMs}${unit}`;
}

/** A size such as `25MB` or `1GiB`, in bytes. */
export function size(min: string, max: string) {
  return between(min, max, bytes, 'size', 'kB, MB, GB or TB');
}

function between(min: string, max: string, read: (text: string) => number, what: string, units: string) {
  const [least, most] = [read(min), read(max)];
  return z
    .string()
    .transform(read)
    .refine(
      (value) => value >= least && value <= most,
      `must be a ${what} from ${min} to ${max}, with its unit (${units})`,
    )
    .meta({ values: `${min} to ${max}` });
}

/** How long as many attempts with the default waits took at most, in milliseconds: what the earlier settings of attempts mean. */
export function oldTryForMs(attempts = 3): number {
  const waits = Array.from({ length: Math.max(0, Math.min(attempts, 20) - 1) }, (_, made) =>
    Math.min(500 * 2 ** made, 10_000),
  );
  return waits.reduce((sum, waitMs) => sum + waitMs, 0);
}

const DAY_MS = milliseconds('1d');

/** How long something is kept, such as `90d`, in days; 0 keeps it for ever. */
export function retention(description: string, shown: string) {
  const sentence = 'must be 0 (for ever) or whole days from 1d to 3650d';
  return z
    .string()
    .transform((text) => milliseconds(text) / DAY_MS)
    .refine((days) => Number.isInteger(days) && days <= 3_650, sentence)
    .prefault(shown)
    .describe(description)
    .meta({ values: '1d to 3650d; 0 for ever' });
}

/** Levels of the log, the most talkative first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** A phone number as people write it → its digits. */
export const phoneNumber = z
  .string()
  .transform((value) =>
    value
      .trim()
      .replace(/^\+/, '')
      .replace(/[\s().-]/g, ''),
  )
  .refine((digits) => /^[1-9]\d{6,14}$/.test(digits), PHRASES['field.phone']);

/** The URL; undefined when the text is not one. */
export function parsedUrl(value: string): URL | undefined {
  return URL.canParse(value) ? new URL(value) : undefined;
}

/** A WhatsApp server: wss://, or ws:// on this machine. */
export const whatsappWsUrl = z.string().superRefine((value, context) => {
  const url = parsedUrl(value);
  if (!url || (url.protocol !== 'ws:' && url.protocol !== 'wss:')) {
    context.addIssue('must be a ws:// or wss:// URL such as ws://127.0.0.1:9000/ws/chat');
  } else if (url.protocol === 'ws:' && !isLoopbackHost(url.hostname)) {
    context.addIssue('must be wss:// unless its host is this machine: ws:// is not encrypted');
  }
});

/** A PostgreSQL to connect to. */
export const databaseUrl = z.string().refine((value) => {
  const url = parsedUrl(value);
  return url?.protocol === 'postgres:' || url?.protocol === 'postgresql:';
}, 'must be a PostgreSQL URL such as postgresql://user:password@host:5432/wa2ai');

/** A private key of secp256k1 is less than this. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The private key of a wallet: `0x` and 64 lower-case digits. */
export const walletKey = z
  .string()
  .transform((text) => `0x${text.toLowerCase().replace(/^0x/, '')}`)
  .refine(
    (key) => /^0x[0-9a-f]{64}$/.test(key) && BigInt(key) > 0n && BigInt(key) < CURVE_ORDER,
    'must be a private key: 64 hexadecimal digits',
  );

/** Names of the variables that are secrets. */
export function secretsOf(fields: Record<string, z.ZodType>): string[] {
  return Object.entries(fields).flatMap(([name, field]) => (metaOf(field).secret ? [name] : []));
}

/**
 * Where the value in force comes from: the environment of the process, a line of the file `.env`, the file that `NAME_FILE`
 * names, or the default.
 */
type SettingOrigin = 'environment' | 'env-file' | 'secret-file' | 'default';

/** A setting of the service. */
export interface Setting {
  /** Name of its variable. */
  name: string;
  /** Heading in docs/settings.md. */
  group: string;
  meaning: string;
  /** Values it takes, in words. */
  values?: string;
  /** As it would be written, or in words. Absent: none. */
  default?: string;
  /** As it is written. Absent: it is not set and has no default value, or it is a secret. */
  value?: string;
  isSecret: boolean;
  /** Whether it has a value that is not the default. */
  isSet: boolean;
  origin: SettingOrigin;
}

type Variables = Record<string, string | undefined>;

/**
 * Every setting with the value in force, in the order of the schema. Contains no secret.
 * @param fields the schema of each variable
 * @param written the variables that are set, trimmed
 * @param withSecrets the same with the secrets of files
 * @param fromFile names of the variables that only the file `.env` sets
 */
export function listSettings(
  fields: Record<string, z.ZodType>,
  written: Variables,
  withSecrets: Variables,
  fromFile: ReadonlySet<string>,
): Setting[] {
  return Object.entries(fields).map(([name, field]) => {
    const { group, description, values, shownDefault, secret } = metaOf(field);
    const defaultValue = prefaultOf(field);
    const shown = defaultValue ?? shownDefault?.replaceAll('`', '');
    const isSecret = secret === true;
    const value = withSecrets[name] ?? defaultValue;
    return {
      ...{ name, group: group ?? '', meaning: description ?? '' },
      ...(values !== undefined && { values: values.replaceAll('`', '') }),
      ...(shown !== undefined && { default: shown }),
      ...(value !== undefined && !isSecret && { value }),
      ...{ isSecret, isSet: withSecrets[name] !== undefined },
      origin: originOf(name, written, withSecrets, fromFile),
    };
  });
}

interface Meta {
  group?: string;
  description?: string;
  values?: string;
  shownDefault?: string;
  secret?: boolean;
}

/** Of a field and of what it wraps. */
function metaOf(field: z.ZodType): Meta {
  const { def } = field;
  const inner = 'innerType' in def ? metaOf(def.innerType as z.ZodType) : {};
  return { ...inner, ...field.meta() };
}

/** What an absent variable is read as. */
function prefaultOf(field: z.ZodType): string | undefined {
  const { def } = field;
  return 'defaultValue' in def && typeof def.defaultValue === 'string' ? def.defaultValue : undefined;
}

function originOf(
  name: string,
  written: Variables,
  withSecrets: Variables,
  fromFile: ReadonlySet<string>,
): SettingOrigin {
  if (written[name] === undefined) return withSecrets[name] === undefined ? 'default' : 'secret-file';
  return fromFile.has(name) ? 'env-file' : 'environment';
}

/**
 * Points in the processing of a message at which a crash test can end the process, in their order:
 *
 * - `after-decrypt` the plaintext is known, neither it nor the ratchet's step is stored
 * - `after-journal` both are stored, no delivery receipt is sent
 * - `after-receipt` the delivery receipt is written
 * - `after-inbox-commit` the inbox has the message, its turn is not started
 * - `in-agent-call` the request was sent, the agent has not answered
 * - `after-outbox-write` the reply is stored, nothing is sent
 * - `after-socket-write` the reply's bytes are written, its row does not say so
 * - `before-ack-recorded` WhatsApp's ack came, its row does not say so
 */
export const FAULT_POINTS = [
  'after-decrypt',
  'after-journal',
  'after-receipt',
  'after-inbox-commit',
  'in-agent-call',
  'after-outbox-write',
  'after-socket-write',
  'before-ack-recorded',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

/** The process ends when it reaches `point` for the `pass`-th time, counted from 1. */
export interface FaultPlan {
  point: FaultPoint;
  pass: number;
}
