import { isIP } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { Wa2aiError } from '../core/errors.ts';
import { PHRASES } from '../core/phrases.ts';
import { similarTo, withoutTrailing } from '../core/text.ts';
import {
  databaseUrl,
  duration,
  FAULT_POINTS,
  type FaultPlan,
  type FaultPoint,
  group,
  isLoopbackHost,
  LOG_LEVELS,
  listSettings,
  oldTryForMs,
  parsedUrl,
  phoneNumber,
  retention,
  type Setting,
  secretsOf,
  size,
  walletKey,
  whatsappWsUrl,
  wholeNumber,
} from './config-fields.ts';
import { mediaFields, mediaOf, mediaProblems } from './media-settings.ts';
import { fileVariableOf, withSecretFiles } from './secret-files.ts';
import { localSocketOf } from './socket-path.ts';

/** Where the version of WhatsApp Web is read: https://, or http:// on this machine. */
const versionUrl = z.string().superRefine((value, context) => {
  const url = parsedUrl(value);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password) {
    context.addIssue('must be an https:// URL without a password, such as https://web.whatsapp.com/sw.js');
  } else if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    context.addIssue('must be https:// unless its host is this machine');
  }
});

/** `after-journal:3`: a fault point and its pass. */
const faultPoint = z.string().transform((value, context): FaultPlan => {
  const [point = '', pass = '1', ...rest] = value.split(':');
  const isKnown = (FAULT_POINTS as readonly string[]).includes(point);
  if (!isKnown || !/^[1-9]\d{0,5}$/.test(pass) || rest.length > 0) {
    context.addIssue(`must be one of ${FAULT_POINTS.join(', ')}, a colon and the pass, counted from 1`);
    return z.NEVER;
  }
  return { point: point as FaultPoint, pass: Number(pass) };
});

/** A setting is wrong; the start must stop. The message has one sentence for each wrong variable, one per line. */
export class ConfigError extends Wa2aiError {
  /** One sentence for each wrong variable, beginning with its name; never contains a secret's value. */
  readonly sentences: readonly string[];

  constructor(sentences: readonly string[]) {
    super('CONFIG', 'dead', { sentence: sentences.join('\n') });
    this.sentences = sentences;
  }
}

/** Shortest admin key that is accepted; `openssl rand -hex 16` gives twice that. */
const MIN_API_KEY_CHARS = 16;

/** Name of an account or a node. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const NAME_SENTENCE = PHRASES['field.name'];

/** Variables that most installations look at first. */
const service = group('Service', {
  WA2AI_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.:[\]_-]+$/, 'must be a host name or an IP address')
    .prefault('127.0.0.1')
    .describe(
      'Address that the API and the pages listen on. Every address except loopback needs WA2AI_API_KEY.',
    )
    .meta({ values: 'host name or IP address' }),
  WA2AI_PORT: wholeNumber(0, 65_535)
    .prefault('3000')
    .describe('Port of the API and the pages. 0 chooses a free port.'),
  WA2AI_PUBLIC_URL: z
    .string()
    .regex(/^https?:\/\/[^\s?#]+$/i, PHRASES['field.http-or-https-url'])
    .refine((url) => URL.canParse(url), PHRASES['field.http-or-https-url'])
    .transform((url) => withoutTrailing(url, '/'))
    .optional()
    .describe(
      'URL at which agents reach wa2ai, the same on all nodes: webhooks get links to the files of people. Without it they get no links.',
    )
    .meta({ values: '`https://wa2ai.example.com`' }),
  WA2AI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must contain printable ASCII characters only, without spaces')
    .min(MIN_API_KEY_CHARS, `must have at least ${MIN_API_KEY_CHARS} characters`)
    .optional()
    .describe('Admin key. Callers send it as `X-API-Key` or `Authorization: Bearer`.')
    .meta({ secret: true, values: `at least ${MIN_API_KEY_CHARS} printable ASCII characters` }),
  WA2AI_DATA_DIR: z
    .string()
    .prefault('./data')
    .describe('Folder of the embedded database.')
    .meta({ values: 'path' }),
  WA2AI_SOCKET: z
    .string()
    .optional()
    .describe(
      'Unix socket by which `wa2ai` on the command line reaches the service without a key, with all rights. Only the user of the service can open it. `off` switches it off.',
    )
    .meta({ shownDefault: '`wa2ai.sock` in the data folder', values: 'path or `off`' }),
  DATABASE_URL: databaseUrl
    .optional()
    .describe(
      'PostgreSQL to use instead of the embedded one: the server itself, or a pooler in session mode.',
    )
    .meta({ secret: true, values: '`postgresql://user:password@host:5432/wa2ai`' }),
  DATABASE_PASSWORD: z
    .string()
    .optional()
    .describe('Password for a DATABASE_URL without one.')
    .meta({ secret: true, values: 'text' }),
  WA2AI_DATA_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'File with the keys that encrypt secrets in the database: one key a line, the first one encrypts, all decrypt. Create a key with `openssl rand -base64 32`. Without it secrets in the database of DATABASE_URL are not encrypted.',
    )
    .meta({ shownDefault: '`data-key` in the data folder for the embedded database', values: 'path' }),
});

const nodes = group('Several nodes', {
  WA2AI_NODE_ID: z
    .string()
    .regex(NAME_PATTERN, NAME_SENTENCE)
    .optional()
    .describe('Name of this node, different on each node.')
    .meta({ shownDefault: 'stable per data folder', values: 'name of 1 to 64 characters' }),
});

const whatsapp = group('WhatsApp', {
  WA2AI_ACCOUNT_ID: z
    .string()
    .regex(NAME_PATTERN, NAME_SENTENCE)
    .prefault('default')
    .describe(
      'Name of the WhatsApp account that exists from the first start. `POST /api/accounts` adds more.',
    )
    .meta({ values: 'name of 1 to 64 characters' }),
  WA2AI_PAIRING_PHONE: phoneNumber
    .optional()
    .describe('Phone number of the account, to link it with an eight-letter code instead of a QR code.')
    .meta({ values: 'phone number with country code' }),
  WA2AI_MAX_MESSAGE_AGE: duration('1s', '30d')
    .prefault('24h')
    .describe('Maximum age of a message that is answered. Older messages are only stored.'),
  WA2AI_FFMPEG: z
    .string()
    .prefault('ffmpeg')
    .describe('Program that converts sounds to voice notes. Without it only Opus in OGG can be a voice note.')
    .meta({ values: 'name of a program or path' }),
});

const agents = group('Agents', {
  WA2AI_AGENT_TIMEOUT: duration('100ms', '1h')
    .prefault('30s')
    .describe('Time limit of one attempt to ask an agent.'),
  WA2AI_AGENT_TRY_FOR: duration('0', '1h')
    .prefault('2m')
    .describe(
      'How long to try an agent that is not available (no connection, 429, 502, 503); other failures that a repeat may end get three attempts. The chat waits. 0: one attempt.',
    ),
  WA2AI_EGRESS: z
    .enum(['private', 'public', 'any'], { error: 'must be private, public or any' })
    .prefault('private')
    .describe(
      'Addresses that agents may be at. `private`: all except cloud metadata and link-local addresses. `public`: only public addresses. `any`: every address. Names are checked after they are resolved. Hosted agents, which wa2ai itself starts, are always reached.',
    )
    .meta({ values: '`private`, `public`, `any`' }),
  WA2AI_EXCHANGES: z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .prefault('on')
    .describe(
      'Whether the requests to agents and their answers are stored, for the trace of a message: without secrets, at most 8,192 characters of each body. Costs about 1 KB of disk for each message.',
    )
    .meta({ values: '`on`, `off`' }),
  WA2AI_NPC_WALLET_KEY: walletKey
    .optional()
    .describe('Private key of the wallet for `duel` and `quest` of the NPC server. The same on all nodes.')
    .meta({ secret: true, values: '64 hexadecimal digits' }),
});

const hostedAgents = group('Hosted agents', {
  WA2AI_CONTAINER_ENGINE: z
    .string()
    .regex(/^(?:unix:\/\/)?\/[^:]+$/, 'must be unix:// and a path such as unix:///run/podman/podman.sock')
    .optional()
    .describe('Socket of the Docker or podman engine that runs agents (`config.hosted`).')
    .meta({
      shownDefault: 'DOCKER_HOST, then the usual sockets of Docker and podman',
      values: '`unix:///path`',
    }),
  WA2AI_AGENTS_MAX_RUNNING: wholeNumber(1, 10_000)
    .prefault('20')
    .describe(
      'Number of hosted agents that may run on this node. For one more, the idle one that was used longest ago stops.',
    ),
  WA2AI_PROCESS_AGENTS: z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .transform((value) => value === 'on')
    .prefault('off')
    .describe(
      'Whether hosted agents may run as processes of this machine (`runtime: process`). Their programs can do what wa2ai can do: read its data key, change users and keys. Where wa2ai is root, each agent runs as a separate user without rights.',
    )
    .meta({ values: '`on`, `off`' }),
  WA2AI_AGENT_DISK: size('1MiB', '1TiB')
    .prefault('1GiB')
    .describe(
      'Largest data folder of a hosted agent; each file, folder and link counts with at least 4 KiB. With more it stops within a minute and does not start.',
    ),
  WA2AI_AGENT_START_TIMEOUT: duration('100ms', '1h')
    .prefault('1m')
    .describe('Time that a started agent may take until it answers HTTP.'),
  WA2AI_AGENTS_STOP_ON_EXIT: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((value) => value === 'true')
    .prefault('false')
    .describe(
      'Whether containers of agents stop with wa2ai. Those that continue are adopted by the next start. Processes always stop.',
    )
    .meta({ values: '`true`, `false`' }),
  WA2AI_AGENTS_NETWORKS: z
    .string()
    .transform((value): 'any' | string[] =>
      value === 'any'
        ? value
        : value
            .split(',')
            .map((each) => each.trim())
            .filter((each) => each !== ''),
    )
    .refine(
      (value) => value === 'any' || value.every(isNetwork),
      'must be any, or networks such as 10.1.0.0/16,192.168.1.20',
    )
    .prefault('')
    .describe('Networks that containers of agents reach besides the internet. `any`: all, and this machine.')
    .meta({ values: '`any`, or a list of addresses and networks' }),
});

const retentions = group('Retention', {
  WA2AI_RETENTION_TEXTS: retention(
    'How long texts of messages and answers, traces and dead letters are kept; answers at least 14 days, because a phone may request one again. Requests to agents are kept 7 days, events of webhooks 30, if that is shorter. Rows stay, so that nothing is answered twice.',
    '90d',
  ),
  WA2AI_RETENTION_FILES: retention(
    'How long files of people, and those of answers that WhatsApp acknowledged, are kept in every store.',
    '30d',
  ),
  WA2AI_RETENTION_RECORDS: retention('How long entries of the audit log are kept.', '365d'),
});

const logs = group('Logs', {
  WA2AI_LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: 'must be trace, debug, info, warn, error, fatal or silent' })
    .prefault('info')
    .describe('Least severe level that is logged. `trace` contains message texts.')
    .meta({ values: '`trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`' }),
  WA2AI_LOG_FORMAT: z
    .enum(['pretty', 'json'], { error: 'must be pretty or json' })
    .optional()
    .describe('Format of log lines.')
    .meta({ shownDefault: 'pretty on a terminal, else json', values: '`pretty`, `json`' }),
});

/** Variables that few installations need: the last table of docs/settings.md, folded in the console. */
const advanced = group('Advanced', {
  WA2AI_ENVIRONMENT: z
    .enum(['lab', 'prod'], { error: 'must be lab or prod' })
    .prefault('lab')
    .describe('Only routes of this environment match.')
    .meta({ values: '`lab`, `prod`' }),
  WA2AI_LEASE_TTL: duration('500ms', '10m')
    .prefault('15s')
    .describe(
      'Time after which another node takes the WhatsApp accounts of a node that hangs. The same on all nodes.',
    ),
  WA2AI_ACK_TIMEOUT: duration('1s', '1h')
    .prefault('30s')
    .describe(
      'Time after which a reply that WhatsApp accepted and did not acknowledge is sent again with the same id.',
    ),
  WA2AI_MEDIA_TIMEOUT: duration('100ms', '1h')
    .prefault('30s')
    .describe("Time limit for loading a person's file from WhatsApp."),
  WA2AI_LOOP_TURNS: wholeNumber(0, 100)
    .prefault('10')
    .describe(
      'Number of messages in a row that look automatic before the chat counts as an auto-reply loop and is not answered. 0 switches this off.',
    ),
  WA2AI_LOOP_REPLY: duration('1ms', '1m')
    .prefault('1500ms')
    .describe('A message that arrives sooner than this after our reply can look automatic.'),
  WA2AI_WHATSAPP_VERSION: z
    .string()
    .regex(
      /^(?:auto|built-in|\d{1,5}\.\d{1,10}\.\d{1,10})$/,
      'must be auto, built-in or a WhatsApp Web version such as 2.3000.1043857760',
    )
    .transform((value): 'auto' | 'built-in' | [number, number, number] => {
      if (value === 'auto' || value === 'built-in') return value;
      const [primary = 0, secondary = 0, tertiary = 0] = value.split('.').map(Number);
      return [primary, secondary, tertiary];
    })
    .prefault('auto')
    .describe(
      'WhatsApp Web version to report to WhatsApp. `auto`: the one in Baileys, or a newer one that WhatsApp serves; looked up once a day and when WhatsApp refuses a version. `built-in`: the one in Baileys; nothing is looked up.',
    )
    .meta({ values: '`auto`, `built-in`, `2.3000.1043857760`' }),
  WA2AI_WHATSAPP_VERSION_URL: versionUrl
    .optional()
    .describe('Service worker of WhatsApp Web, whose `client_revision` is the current version.')
    .meta({
      shownDefault: '`https://web.whatsapp.com/sw.js`',
      values: '`https://` URL; `http://` only on this machine',
    }),
  WA2AI_AGENTS_SUBNET: z
    .string()
    .regex(/^(?:10|172|192)\.\d{1,3}$/, 'must be the first two numbers of private addresses such as 10.213')
    .prefault('10.213')
    .describe('Begin of the addresses of agents: each gets a network of 16 addresses from it.')
    .meta({ values: 'two numbers' }),
  WA2AI_AGENTS_SELINUX: z
    .enum(['z', 'Z', 'none'], { error: 'must be z, Z or none' })
    .prefault('none')
    .describe('Label for the folders of agents on machines with SELinux.')
    .meta({ values: '`z`, `Z`, `none`' }),
  WA2AI_AGENTS_HOST_DIR: z
    .string()
    .optional()
    .describe(
      "When wa2ai runs in a container: the path of WA2AI_DATA_DIR on the engine's machine, which mounts it into agents.",
    )
    .meta({ values: 'path' }),
  WA2AI_AGENTS_OWN_CONTAINER: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]+$/, 'must be the name or id of a container')
    .optional()
    .describe('When wa2ai runs in a container: its name. It joins the networks of its agents to reach them.')
    .meta({ values: 'name of a container' }),
});

/** Variables for the tests of wa2ai; CONTRIBUTING.md has them. */
const tests = group('Tests', {
  WA2AI_WHATSAPP_WS_URL: whatsappWsUrl
    .optional()
    .describe("WebSocket server to use instead of WhatsApp's: a test server or a proxy.")
    .meta({ shownDefault: "WhatsApp's own", values: '`wss://` URL; `ws://` only on this machine' }),
  WA2AI_WHATSAPP_MEDIA_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/, 'must be a host name with an optional port')
    .optional()
    .describe("Host to load people's files from instead of WhatsApp's, over https.")
    .meta({ shownDefault: '`mmg.whatsapp.net`', values: 'host name with an optional port' }),
  WA2AI_FAULT_POINT: faultPoint
    .optional()
    .describe(
      'Point at which the process kills itself, for crash tests: `after-journal:3` at the third pass of that point. Needs a WhatsApp test server on this machine.',
    )
    .meta({ values: 'point, colon and pass' }),
});

/**
 * Every environment variable of the service, by name. Its docstrings are the `describe` texts: `.env.example` and
 * docs/settings.md are written from them (tests/support/config-docs.ts). Empty variables count as not set.
 */
export const envSchema = z.object({
  ...service,
  ...nodes,
  ...whatsapp,
  ...agents,
  ...hostedAgents,
  ...mediaFields,
  ...retentions,
  ...logs,
  ...advanced,
  ...tests,
});

/** Variables that are secrets: each may be in the file that `NAME_FILE` names instead. */
const SECRETS: readonly string[] = secretsOf(envSchema.shape);

/** Variables that name the file of a secret. */
export const FILE_VARIABLES: readonly string[] = SECRETS.map(fileVariableOf);

/** A variable that is set by an earlier name. */
interface RenamedVariable {
  from: string;
  to: string;
}

/** Earlier variables of kinds of data whose time follows from others now, accepted until the next version. */
const OLD_RETENTION = {
  WA2AI_RETENTION_OUTBOX_DAYS: 'outbox',
  WA2AI_RETENTION_EXCHANGES_DAYS: 'exchanges',
  WA2AI_RETENTION_DEAD_LETTERS_DAYS: 'deadLetters',
  WA2AI_RETENTION_WORKFLOWS_DAYS: 'workflows',
  WA2AI_RETENTION_JOURNAL_DAYS: 'journal',
  WA2AI_RETENTION_OLD_KEYS_DAYS: 'oldKeys',
  WA2AI_RETENTION_WEBHOOKS_DAYS: 'webhooks',
} as const;
type OldRetention = (typeof OLD_RETENTION)[keyof typeof OLD_RETENTION];

/** The days that earlier variables say. @param report receives one sentence for each wrong one */
function oldRetentionOf(given: Env, report: (name: string, sentence: string) => void) {
  const days: Partial<Record<OldRetention, number>> = {};
  for (const [name, kind] of Object.entries(OLD_RETENTION)) {
    const text = given[name];
    if (text === undefined) continue;
    const least = kind === 'outbox' ? 14 : 1;
    const isDays = /^\d{1,4}$/.test(text) && Number(text) <= 3_650 && (text === '0' || Number(text) >= least);
    if (isDays) days[kind] = Number(text);
    else report(name, `${name} must be 0 (for ever) or a whole number of days from ${least} to 3650.`);
  }
  return days;
}

/** Earlier variables with a unit in their name, what they are called now, and that unit. */
const OLD_UNITS = [
  ['WA2AI_MAX_MESSAGE_AGE_MS', 'WA2AI_MAX_MESSAGE_AGE', 'ms'],
  ['WA2AI_AGENT_TIMEOUT_MS', 'WA2AI_AGENT_TIMEOUT', 'ms'],
  ['WA2AI_AGENT_DISK_MB', 'WA2AI_AGENT_DISK', 'MiB'],
  ['WA2AI_AGENT_START_MS', 'WA2AI_AGENT_START_TIMEOUT', 'ms'],
  ['WA2AI_MEDIA_MAX_MB', 'WA2AI_MEDIA_MAX_SIZE', 'MB'],
  ['WA2AI_LEASE_TTL_MS', 'WA2AI_LEASE_TTL', 'ms'],
  ['WA2AI_ACK_TIMEOUT_MS', 'WA2AI_ACK_TIMEOUT', 'ms'],
  ['WA2AI_MEDIA_TIMEOUT_MS', 'WA2AI_MEDIA_TIMEOUT', 'ms'],
  ['WA2AI_LOOP_REPLY_MS', 'WA2AI_LOOP_REPLY', 'ms'],
  ['WA2AI_RETENTION_TEXT_DAYS', 'WA2AI_RETENTION_TEXTS', 'd'],
  ['WA2AI_RETENTION_FILES_DAYS', 'WA2AI_RETENTION_FILES', 'd'],
  ['WA2AI_RETENTION_AUDIT_DAYS', 'WA2AI_RETENTION_RECORDS', 'd'],
] as const;

/** Earlier names of variables, accepted until the next version; those of one variable of now together. */
export const OLD_VARIABLES: ReadonlyArray<{
  names: readonly string[];
  to: string;
  read(values: Env): string | undefined;
}> = [
  ...OLD_UNITS.map(([name, to, unit]) => ({
    names: [name],
    to,
    read: ({ [name]: value }: Env) => (value === undefined ? undefined : value + unit),
  })),
  {
    names: ['WA2AI_AGENT_ATTEMPTS', 'WA2AI_AGENT_PATIENCE_MS'],
    to: 'WA2AI_AGENT_TRY_FOR',
    read: ({ WA2AI_AGENT_ATTEMPTS: attempts = '3', WA2AI_AGENT_PATIENCE_MS: patience }) => {
      if (patience === undefined) return undefined;
      if (patience !== '0') return `${patience}ms`;
      return attempts === '1' ? '0' : `${oldTryForMs(Number(attempts))}ms`;
    },
  },
  {
    names: Object.keys(OLD_RETENTION),
    to: 'WA2AI_RETENTION_TEXTS',
    read: () => undefined,
  },
];

/** Earlier names of variables. */
const EARLIER_NAMES: readonly string[] = OLD_VARIABLES.flatMap(({ names }) => names);

/** The variables with the names of now, which decide where both are there. */
function withNewVariables(given: Env): { set: Env; renamed: RenamedVariable[] } {
  const set = { ...given };
  const renamed: RenamedVariable[] = [];
  for (const { names, to, read } of OLD_VARIABLES) {
    const used = names.filter((name) => set[name] !== undefined);
    if (used.length === 0) continue;
    const value = set[to] ?? read(given);
    if (value !== undefined) set[to] = value;
    for (const from of used) {
      renamed.push({ from, to });
      delete set[from];
    }
  }
  return { set, renamed };
}

/** The settings of the service, typed and frozen; what each means is the `describe` text of its variable. */
export type Config = Readonly<ReturnType<typeof configOf>>;

type Env = Record<string, string | undefined>;

/**
 * The variables that are set, trimmed: `given` as they are written, `set` by their names of now, `withSecrets` with the
 * secrets that are in files.
 * @param report receives one sentence, without its variable, for each file that gives no secret
 */
export function readVariables(env: Env, report: (name: string, sentence: string) => void) {
  const given: Env = Object.fromEntries(
    Object.entries(env)
      .map(([name, value]) => [name, value?.trim()])
      .filter(([, value]) => value),
  );
  const { set, renamed } = withNewVariables(given);
  return { given, set, renamed, withSecrets: withSecretFiles(set, SECRETS, report) };
}

/**
 * Reads the settings; nothing else reads the environment.
 * @param isTerminal whether the log goes to a terminal, which decides the default of WA2AI_LOG_FORMAT
 * @param fromFile names of the variables that only the file `.env` sets
 * @throws {ConfigError} one sentence for each wrong variable
 */
export function loadConfig(
  env: Env,
  isTerminal: boolean = process.stdout.isTTY === true,
  fromFile: ReadonlySet<string> = new Set(),
): Config {
  const sentences = new Map<string, string>();
  const { given, set, renamed, withSecrets } = readVariables(env, (name, sentence) =>
    sentences.set(name, `${name} ${sentence}.`),
  );
  const oldRetention = oldRetentionOf(given, (name, sentence) => sentences.set(name, sentence));
  /** Whether a variable has a value, or a sentence says already why its file gives none. */
  const isGiven = (name: string) => withSecrets[name] !== undefined || sentences.has(fileVariableOf(name));
  const parsed = envSchema.safeParse(withSecrets);
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0]);
    const from =
      set[fileVariableOf(name)] === undefined
        ? renamed.find(({ to }) => to === name && given[to] === undefined)?.from
        : fileVariableOf(name);
    const written = from === undefined ? name : `${name} (from ${from})`;
    if (!sentences.has(name)) sentences.set(name, `${written} ${issue.message}.`);
  }
  if (withSecrets.DATABASE_PASSWORD !== undefined && !sentences.has('DATABASE_URL')) {
    if (!isGiven('DATABASE_URL')) {
      sentences.set(
        'DATABASE_PASSWORD',
        'DATABASE_PASSWORD must not be set without DATABASE_URL, whose password it is.',
      );
    } else if (parsedUrl(withSecrets.DATABASE_URL ?? '')?.password) {
      sentences.set(
        'DATABASE_PASSWORD',
        'DATABASE_PASSWORD must not be set when DATABASE_URL contains a password.',
      );
    }
  }
  const host: string = set.WA2AI_HOST ?? '127.0.0.1';
  if (!sentences.has('WA2AI_HOST') && !isGiven('WA2AI_API_KEY') && !isLoopbackHost(host)) {
    sentences.set(
      'WA2AI_API_KEY',
      `WA2AI_API_KEY must be set because WA2AI_HOST is ${host}: everybody who reaches this address could send messages as you.`,
    );
  }
  if (set.WA2AI_FAULT_POINT && !isTestServer(set.WA2AI_WHATSAPP_WS_URL)) {
    sentences.set(
      'WA2AI_FAULT_POINT',
      'WA2AI_FAULT_POINT must not be set without a WA2AI_WHATSAPP_WS_URL that is a ws:// URL on this machine: it kills the process and is for tests only.',
    );
  }
  for (const [name, sentence] of mediaProblems(withSecrets)) {
    if (!sentences.has(name) && !isGiven(name)) sentences.set(name, sentence);
  }
  if (!parsed.success || sentences.size > 0) throw new ConfigError([...sentences.values()]);
  const fileNames = new Set([
    ...fromFile,
    ...renamed.filter(({ from }) => fromFile.has(from)).map(({ to }) => to),
  ]);
  const settings = listSettings(envSchema.shape, set, withSecrets, fileNames);
  return Object.freeze(configOf(parsed.data, { isTerminal, settings, renamed, oldRetention }));
}

function configOf(
  values: z.infer<typeof envSchema>,
  given: {
    isTerminal: boolean;
    settings: readonly Setting[];
    renamed: readonly RenamedVariable[];
    oldRetention: Partial<Record<OldRetention, number>>;
  },
) {
  const { isTerminal, settings, renamed, oldRetention } = given;
  const socket = localSocketOf({ socket: values.WA2AI_SOCKET, dataDir: values.WA2AI_DATA_DIR });
  const whatsappVersionUrl =
    values.WA2AI_WHATSAPP_VERSION_URL ??
    new URL('/sw.js', (values.WA2AI_WHATSAPP_WS_URL ?? 'wss://web.whatsapp.com').replace(/^ws/, 'http')).href;
  const logFormat = values.WA2AI_LOG_FORMAT ?? (isTerminal ? ('pretty' as const) : ('json' as const));
  /** Values in force of variables whose default is made of others. */
  const derived: Record<string, string | undefined> = {
    WA2AI_SOCKET: socket?.path,
    WA2AI_DATA_KEY_FILE:
      values.DATABASE_URL === undefined ? join(values.WA2AI_DATA_DIR, 'data-key') : undefined,
    WA2AI_MEDIA_DIR: values.DATABASE_URL === undefined ? join(values.WA2AI_DATA_DIR, 'media') : undefined,
    WA2AI_WHATSAPP_VERSION_URL: whatsappVersionUrl,
    WA2AI_LOG_FORMAT: logFormat,
  };
  return {
    host: values.WA2AI_HOST.replace(/^\[(.*)\]$/, '$1'),
    port: values.WA2AI_PORT,
    publicUrl: values.WA2AI_PUBLIC_URL,
    apiKey: values.WA2AI_API_KEY,
    environment: values.WA2AI_ENVIRONMENT,
    dataDir: values.WA2AI_DATA_DIR,
    socket,
    databaseUrl: databaseUrlOf(values),
    dataKeyFile: values.WA2AI_DATA_KEY_FILE,
    nodeId: values.WA2AI_NODE_ID,
    leaseTtlMs: values.WA2AI_LEASE_TTL,
    accountId: values.WA2AI_ACCOUNT_ID,
    pairingPhone: values.WA2AI_PAIRING_PHONE,
    maxMessageAgeMs: values.WA2AI_MAX_MESSAGE_AGE,
    whatsappWsUrl: values.WA2AI_WHATSAPP_WS_URL,
    whatsappMediaHost: values.WA2AI_WHATSAPP_MEDIA_HOST,
    whatsappVersion: values.WA2AI_WHATSAPP_VERSION,
    whatsappVersionUrl,
    agentTimeoutMs: values.WA2AI_AGENT_TIMEOUT,
    ffmpeg: values.WA2AI_FFMPEG,
    mediaTimeoutMs: values.WA2AI_MEDIA_TIMEOUT,
    agentTryForMs: values.WA2AI_AGENT_TRY_FOR,
    egress: values.WA2AI_EGRESS,
    hosting: {
      engine: values.WA2AI_CONTAINER_ENGINE,
      maxRunning: values.WA2AI_AGENTS_MAX_RUNNING,
      processes: values.WA2AI_PROCESS_AGENTS,
      diskBytes: values.WA2AI_AGENT_DISK,
      startMs: values.WA2AI_AGENT_START_TIMEOUT,
      stopsOnExit: values.WA2AI_AGENTS_STOP_ON_EXIT,
      subnet: values.WA2AI_AGENTS_SUBNET,
      networks: values.WA2AI_AGENTS_NETWORKS,
      selinux: values.WA2AI_AGENTS_SELINUX,
      hostDir: values.WA2AI_AGENTS_HOST_DIR,
      ownContainer: values.WA2AI_AGENTS_OWN_CONTAINER,
    },
    npcWalletKey: values.WA2AI_NPC_WALLET_KEY,
    exchanges: values.WA2AI_EXCHANGES,
    ackTimeoutMs: values.WA2AI_ACK_TIMEOUT,
    loopTurns: values.WA2AI_LOOP_TURNS,
    loopReplyMs: values.WA2AI_LOOP_REPLY,
    media: mediaOf(values),
    retention: {
      textDays: values.WA2AI_RETENTION_TEXTS,
      fileDays: values.WA2AI_RETENTION_FILES,
      recordDays: values.WA2AI_RETENTION_RECORDS,
    },
    /** What earlier variables say of kinds that follow from the others now. */
    oldRetention,
    logLevel: values.WA2AI_LOG_LEVEL,
    logFormat,
    faultPoint: values.WA2AI_FAULT_POINT,
    /** Every variable with its value and origin, for operators. */
    settings: settings.map((setting) =>
      setting.isSet ? setting : { ...setting, ...inForce(derived[setting.name]) },
    ),
    /** Variables that are set by an earlier name. */
    renamed,
  };
}

/** The URL with its password, encoded. */
function databaseUrlOf({ DATABASE_URL: url, DATABASE_PASSWORD: password }: z.infer<typeof envSchema>) {
  if (url === undefined || password === undefined) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(password);
  return whole.href;
}

function inForce(value: string | undefined): { value?: string } {
  return value === undefined ? {} : { value };
}

function isTestServer(whatsappUrl: string | undefined): boolean {
  const url = whatsappUrl === undefined ? undefined : parsedUrl(whatsappUrl);
  return url?.protocol === 'ws:' && isLoopbackHost(url.hostname);
}

/** Whether a text is an address, or a network such as `10.1.0.0/16`. */
function isNetwork(text: string): boolean {
  const [address = '', prefix] = text.split('/', 2);
  const version = isIP(address);
  const max = version === 6 ? 128 : 32;
  return (
    version !== 0 &&
    text.split('/').length <= 2 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= max))
  );
}

const PREFIX = 'WA2AI_';
/** Variables that only the command line reads. They may be in `.env` too. */
const CLI_VARIABLES = ['WA2AI_URL', 'WA2AI_BACKUP_PASSPHRASE', 'WA2AI_BACKUP_PASSPHRASE_FILE'];

/** Every variable that wa2ai reads: settings, files of secrets, earlier names, those of the command line. */
export const KNOWN_VARIABLES: readonly string[] = [
  ...Object.keys(envSchema.shape),
  ...FILE_VARIABLES,
  ...EARLIER_NAMES,
  ...CLI_VARIABLES,
];

/** Edits that a typing error needs at most, such as a missing underscore or two swapped letters. */
const MAX_EDITS = 3;

/** A variable that wa2ai does not know. */
interface UnknownVariable {
  name: string;
  /** The variable that was probably meant; undefined when none is similar. */
  guess: string | undefined;
}

/** Variables that start with `WA2AI_` and are not settings, for a warning at start: most are typing errors. */
export function unknownVariables(env: Record<string, string | undefined>): UnknownVariable[] {
  const settings = [...Object.keys(envSchema.shape), ...FILE_VARIABLES].filter((name) =>
    name.startsWith(PREFIX),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !KNOWN_VARIABLES.includes(name))
    .sort()
    .map((name) => ({ name, guess: guessOf(name, settings) }));
}

function guessOf(name: string, known: readonly string[]): string | undefined {
  const longer = known.filter((candidate) => isStartOf(name, candidate));
  if (longer.length === 1) return longer[0];
  return similarTo(name, known, MAX_EDITS);
}

/** `WA2AI_ENV` for `WA2AI_ENVIRONMENT`; fewer than three letters after the prefix say too little. */
function isStartOf(name: string, candidate: string): boolean {
  return name.length >= PREFIX.length + 3 && candidate.startsWith(name);
}
