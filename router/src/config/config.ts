import { z } from 'zod';
import type { FaultPlan } from '../app/fault-points.ts';
import { Wa2aiError } from '../core/errors.ts';
import {
  databaseUrl,
  faultPoint,
  isLoopbackHost,
  parsedUrl,
  retentionDays,
  whatsappWsUrl,
  wholeNumber,
} from './config-fields.ts';
import { withSecretFiles } from './secret-files.ts';

/** The environment holds a wrong setting; the start must stop. The message has one sentence a variable, one a line. */
export class ConfigError extends Wa2aiError {
  /** One sentence a wrong variable, each naming it; never holds a secret's value. */
  readonly sentences: readonly string[];

  constructor(sentences: readonly string[]) {
    super('CONFIG', 'dead', sentences.join('\n'));
    this.sentences = sentences;
  }
}

/** Shortest admin key that is taken; `openssl rand -hex 16` gives twice that. */
export const MIN_API_KEY_CHARS = 16;

/**
 * Every environment variable of the service, by name. Its docstrings are the `describe` texts: `.env.example` and the
 * README's table are written from them (config-docs.ts). Empty variables count as not set.
 */
export const envSchema = z.object({
  WA2AI_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.:[\]_-]+$/, 'must be a host name or an IP address')
    .prefault('127.0.0.1')
    .describe('Address the REST API and the pages listen on. Anything but loopback needs WA2AI_API_KEY.'),
  WA2AI_PORT: wholeNumber(0, 65_535)
    .prefault('3000')
    .describe('Port the REST API and the pages listen on; 0 takes a free one.'),
  WA2AI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must hold printable ASCII characters only, without spaces')
    .min(MIN_API_KEY_CHARS, `must have at least ${MIN_API_KEY_CHARS} characters`)
    .optional()
    .describe('Admin key that callers send as `X-API-Key` or `Authorization: Bearer`.')
    .meta({ secret: true }),
  WA2AI_API_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'A file that holds the admin key, instead of WA2AI_API_KEY: for secrets of Docker and Kubernetes.',
    ),
  WA2AI_ENVIRONMENT: z
    .enum(['lab', 'prod'], { error: 'must be lab or prod' })
    .prefault('lab')
    .describe('`lab` or `prod`: only routes of this environment match.'),
  WA2AI_DATA_DIR: z
    .string()
    .prefault('./data')
    .describe('Folder of the embedded database, of media and of hosted agents.'),
  DATABASE_URL: databaseUrl
    .optional()
    .describe(
      'A PostgreSQL to use instead of the embedded one: the server itself, or a pooler in session mode.',
    )
    .meta({ secret: true }),
  DATABASE_PASSWORD_FILE: z
    .string()
    .optional()
    .describe('A file that holds the password for DATABASE_URL, which then stands without one.'),
  WA2AI_NODE_ID: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      'must be 1 to 64 letters, digits, dots, dashes or underscores',
    )
    .optional()
    .describe("This node's name among several.")
    .meta({ shownDefault: 'stable per data folder' }),
  WA2AI_LEASE_TTL_MS: wholeNumber(500, 600_000)
    .prefault('15000')
    .describe(
      'How long a node that hangs keeps its WhatsApp accounts before another one takes them, in milliseconds. The same on all nodes.',
    ),
  WA2AI_ACCOUNT_ID: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      'must be 1 to 64 letters, digits, dots, dashes or underscores',
    )
    .prefault('default')
    .describe(
      'Name of the WhatsApp account that is there from the start; more are added with `POST /api/accounts`.',
    ),
  WA2AI_PAIRING_PHONE: z
    .string()
    .transform((value) => value.replace(/^\+/, '').replace(/[\s().-]/g, ''))
    .refine(
      (digits) => /^[1-9]\d{6,14}$/.test(digits),
      'must be a phone number with its country code, 7 to 15 digits',
    )
    .optional()
    .describe('Phone number, with country code, to pair by an eight-letter code instead of a QR code.'),
  WA2AI_MAX_MESSAGE_AGE_MS: wholeNumber(1_000, 2_592_000_000)
    .prefault('86400000')
    .describe('Oldest message that is answered, in milliseconds; older ones are stored and not answered.'),
  WA2AI_WHATSAPP_WS_URL: whatsappWsUrl
    .optional()
    .describe('Another WebSocket server than WhatsApp: test benches, proxies.')
    .meta({ shownDefault: "WhatsApp's own" }),
  WA2AI_WHATSAPP_MEDIA_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/, 'must be a host name with an optional port')
    .optional()
    .describe("Another host than WhatsApp's to fetch people's files from, over https: test benches, proxies.")
    .meta({ shownDefault: 'mmg.whatsapp.net' }),
  WA2AI_WHATSAPP_VERSION: z
    .string()
    .regex(/^\d{1,5}\.\d{1,10}\.\d{1,10}$/, 'must be a WhatsApp Web version such as 2.3000.1023223821')
    .transform((value) => value.split('.').map(Number) as [number, number, number])
    .optional()
    .describe('WhatsApp Web version to report, such as 2.3000.1023223821.')
    .meta({ shownDefault: "Baileys' own" }),
  WA2AI_AGENT_TIMEOUT_MS: wholeNumber(100, 3_600_000)
    .prefault('30000')
    .describe('Longest wait for one answer of an agent, in milliseconds.'),
  WA2AI_MEDIA_TIMEOUT_MS: wholeNumber(100, 3_600_000)
    .prefault('30000')
    .describe("Longest wait for a person's file to come from WhatsApp, in milliseconds."),
  WA2AI_AGENT_ATTEMPTS: wholeNumber(1, 20)
    .prefault('3')
    .describe('How often one message is offered to an agent that did not take it, at least.'),
  WA2AI_AGENT_PATIENCE_MS: wholeNumber(0, 3_600_000)
    .prefault('120000')
    .describe(
      'How long an agent that is away (no connection, 429, 502, 503) is asked again for one message, in milliseconds, before it becomes a dead letter; its chat waits. 0: no longer than the attempts take.',
    ),
  WA2AI_ACK_TIMEOUT_MS: wholeNumber(1_000, 3_600_000)
    .prefault('30000')
    .describe(
      'A message that WhatsApp took and has not acknowledged for so long is sent again with the same id, in milliseconds.',
    ),
  WA2AI_LOOP_TURNS: wholeNumber(0, 100)
    .prefault('10')
    .describe(
      'Turns in a row that look like a program answering the agent before the next stays unanswered; 0 answers all.',
    ),
  WA2AI_LOOP_REPLY_MS: wholeNumber(1, 60_000)
    .prefault('1500')
    .describe(
      'Answers that come sooner after a reply, again and again, count as a program, in milliseconds.',
    ),
  WA2AI_RETENTION_TEXT_DAYS: retentionDays(
    'texts and route traces of ended messages are kept (the rows stay, so that nothing is answered twice)',
    90,
  ),
  WA2AI_RETENTION_OUTBOX_DAYS: retentionDays(
    'replies are kept after WhatsApp acknowledged them; a phone may ask for one again for two weeks',
    30,
    14,
  ),
  WA2AI_RETENTION_DEAD_LETTERS_DAYS: retentionDays('dead letters can be replayed', 90),
  WA2AI_RETENTION_WORKFLOWS_DAYS: retentionDays('records of ended turn loops are kept', 1),
  WA2AI_RETENTION_JOURNAL_DAYS: retentionDays(
    'decrypted stanzas are kept whose message is stored but which a crash left behind',
    7,
  ),
  WA2AI_RETENTION_OLD_KEYS_DAYS: retentionDays('WhatsApp keys are kept that a logout put aside', 30),
  WA2AI_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .prefault('info')
    .describe('Least severe log lines that are written. `trace` holds message texts.'),
  WA2AI_LOG_FORMAT: z
    .enum(['pretty', 'json'], { error: 'must be pretty or json' })
    .optional()
    .describe('`pretty` or `json` log lines.')
    .meta({ shownDefault: 'pretty on a terminal, else json' }),
  WA2AI_FAULT_POINT: faultPoint
    .optional()
    .describe(
      'For crash tests: `after-journal:3` kills the process at its third pass of that point. Needs a WhatsApp test server on this machine.',
    ),
});

/** How long what is over is kept, in days; 0 for ever. */
export interface RetentionDays {
  readonly text: number;
  readonly outbox: number;
  readonly deadLetters: number;
  readonly workflows: number;
  readonly journal: number;
  readonly oldKeys: number;
}

/** The settings of the service, typed and frozen. Absent means not set. */
export interface Config {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly apiKey?: string;
  readonly environment: 'lab' | 'prod';
  readonly dataDir: string;
  readonly databaseUrl?: string;
  readonly nodeId?: string;
  /** How long a lease counts after its last renewal. */
  readonly leaseTtlMs: number;
  readonly accountId: string;
  /** Digits; set: pair by code. */
  readonly pairingPhone?: string;
  readonly maxMessageAgeMs: number;
  readonly whatsappWsUrl?: string;
  /** `host` or `host:port`. */
  readonly whatsappMediaHost?: string;
  readonly whatsappVersion?: readonly [number, number, number];
  readonly agentTimeoutMs: number;
  readonly mediaTimeoutMs: number;
  /** At least 1. */
  readonly agentAttempts: number;
  /** Beyond the attempts, for an agent that is away. */
  readonly agentPatienceMs: number;
  readonly ackTimeoutMs: number;
  /** 0 switches the loop breaker off. */
  readonly loopTurns: number;
  readonly loopReplyMs: number;
  /** Days; 0 for ever. */
  readonly retention: RetentionDays;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly logFormat: 'pretty' | 'json';
  /** Where a crash test ends the process. Only ever set with a `whatsappWsUrl` on this machine. */
  readonly faultPoint?: FaultPlan;
}

type Env = Record<string, string | undefined>;

/**
 * Reads the settings; nothing else reads the environment.
 * @param isTerminal whether a person watches the log, which decides the default of WA2AI_LOG_FORMAT
 * @throws {ConfigError} one sentence a wrong variable
 */
export function loadConfig(env: Env, isTerminal: boolean = process.stdout.isTTY === true): Config {
  const set = Object.fromEntries(
    Object.entries(env)
      .map(([name, value]) => [name, value?.trim()])
      .filter(([, value]) => value),
  );
  const sentences = new Map<string, string>();
  const withSecrets = withSecretFiles(set, (name, sentence) => sentences.set(name, `${name} ${sentence}.`));
  const parsed = envSchema.safeParse(withSecrets);
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0]);
    if (!sentences.has(name)) sentences.set(name, `${name} ${issue.message}.`);
  }
  const host: string = set.WA2AI_HOST ?? '127.0.0.1';
  const hasKey = withSecrets.WA2AI_API_KEY !== undefined || sentences.has('WA2AI_API_KEY_FILE');
  if (!sentences.has('WA2AI_HOST') && !hasKey && !isLoopbackHost(host)) {
    sentences.set(
      'WA2AI_API_KEY',
      `WA2AI_API_KEY must be set because WA2AI_HOST is ${host}: whoever reaches it could send messages as you.`,
    );
  }
  if (set.WA2AI_FAULT_POINT && !isTestServer(set.WA2AI_WHATSAPP_WS_URL)) {
    sentences.set(
      'WA2AI_FAULT_POINT',
      'WA2AI_FAULT_POINT kills the process and is for tests only: WA2AI_WHATSAPP_WS_URL must be a ws:// URL on this machine with it.',
    );
  }
  if (!parsed.success || sentences.size > 0) throw new ConfigError([...sentences.values()]);
  const values = parsed.data;
  return Object.freeze({
    host: values.WA2AI_HOST.replace(/^\[(.*)\]$/, '$1'),
    port: values.WA2AI_PORT,
    apiKey: values.WA2AI_API_KEY,
    environment: values.WA2AI_ENVIRONMENT,
    dataDir: values.WA2AI_DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    nodeId: values.WA2AI_NODE_ID,
    leaseTtlMs: values.WA2AI_LEASE_TTL_MS,
    accountId: values.WA2AI_ACCOUNT_ID,
    pairingPhone: values.WA2AI_PAIRING_PHONE,
    maxMessageAgeMs: values.WA2AI_MAX_MESSAGE_AGE_MS,
    whatsappWsUrl: values.WA2AI_WHATSAPP_WS_URL,
    whatsappMediaHost: values.WA2AI_WHATSAPP_MEDIA_HOST,
    whatsappVersion: values.WA2AI_WHATSAPP_VERSION,
    agentTimeoutMs: values.WA2AI_AGENT_TIMEOUT_MS,
    mediaTimeoutMs: values.WA2AI_MEDIA_TIMEOUT_MS,
    agentAttempts: values.WA2AI_AGENT_ATTEMPTS,
    agentPatienceMs: values.WA2AI_AGENT_PATIENCE_MS,
    ackTimeoutMs: values.WA2AI_ACK_TIMEOUT_MS,
    loopTurns: values.WA2AI_LOOP_TURNS,
    loopReplyMs: values.WA2AI_LOOP_REPLY_MS,
    retention: {
      text: values.WA2AI_RETENTION_TEXT_DAYS,
      outbox: values.WA2AI_RETENTION_OUTBOX_DAYS,
      deadLetters: values.WA2AI_RETENTION_DEAD_LETTERS_DAYS,
      workflows: values.WA2AI_RETENTION_WORKFLOWS_DAYS,
      journal: values.WA2AI_RETENTION_JOURNAL_DAYS,
      oldKeys: values.WA2AI_RETENTION_OLD_KEYS_DAYS,
    },
    logLevel: values.WA2AI_LOG_LEVEL,
    logFormat: values.WA2AI_LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json'),
    faultPoint: values.WA2AI_FAULT_POINT,
  });
}

function isTestServer(whatsappUrl: string | undefined): boolean {
  const url = whatsappUrl === undefined ? undefined : parsedUrl(whatsappUrl);
  return url?.protocol === 'ws:' && isLoopbackHost(url.hostname);
}

/** Names that start with `WA2AI_` and mean nothing, for a warning at start: most are a typing error. */
export function unknownVariables(env: Env): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('WA2AI_') && !(name in envSchema.shape))
    .sort();
}
