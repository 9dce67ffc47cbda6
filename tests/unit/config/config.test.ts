import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../../router/src/config/config.ts';
import { retentionDaysOf } from '../../../router/src/config/live-settings.ts';

const KEY = '0123456789abcdef';

function sentencesOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('returns the documented defaults for an empty environment', () => {
    expect(loadConfig({}, false)).toEqual({
      host: '127.0.0.1',
      port: 3000,
      environment: 'lab',
      dataDir: './data',
      socket: { path: 'data/wa2ai.sock', isChosen: false },
      accountId: 'default',
      maxMessageAgeMs: 86_400_000,
      agentTimeoutMs: 30_000,
      ffmpeg: 'ffmpeg',
      mediaTimeoutMs: 30_000,
      media: { store: 'database', storesReceived: true, maxBytes: 10_000_000_000 },
      agentTryForMs: 120_000,
      egress: 'private',
      exchanges: 'on',
      hosting: {
        ...{ maxRunning: 20, processes: false, diskBytes: 2 ** 30, startMs: 60_000, stopsOnExit: false },
        ...{ subnet: '10.213', networks: [], selinux: 'none' },
      },
      leaseTtlMs: 15_000,
      ackTimeoutMs: 30_000,
      loopTurns: 10,
      loopReplyMs: 1_500,
      retention: { textDays: 90, fileDays: 30, recordDays: 365 },
      oldRetention: {},
      logLevel: 'info',
      logFormat: 'json',
      whatsappVersion: 'auto',
      whatsappVersionUrl: 'https://web.whatsapp.com/sw.js',
      settings: expect.any(Array),
      renamed: [],
    });
  });

  it('looks the version of WhatsApp Web up at the server of WA2AI_WHATSAPP_WS_URL', () => {
    const of = (url: string) => loadConfig({ WA2AI_WHATSAPP_WS_URL: url }).whatsappVersionUrl;
    expect(of('ws://127.0.0.1:9000/ws/chat')).toBe('http://127.0.0.1:9000/sw.js');
    expect(of('wss://proxy.example/ws/chat?x=1')).toBe('https://proxy.example/sw.js');
    expect(loadConfig({ WA2AI_WHATSAPP_VERSION: 'built-in' }).whatsappVersion).toBe('built-in');
  });

  it('reads every variable', () => {
    const config = loadConfig({
      WA2AI_HOST: '0.0.0.0',
      WA2AI_PORT: '0',
      WA2AI_API_KEY: KEY,
      WA2AI_ENVIRONMENT: 'prod',
      WA2AI_DATA_DIR: '/var/lib/wa2ai data',
      WA2AI_SOCKET: '/run/wa2ai.sock',
      DATABASE_URL: 'postgresql://u:p@db:5432/wa2ai',
      WA2AI_NODE_ID: 'node-a',
      WA2AI_ACCOUNT_ID: 'sales',
      WA2AI_PAIRING_PHONE: '+54 9 3777 23-9922',
      WA2AI_MAX_MESSAGE_AGE: '1m',
      WA2AI_WHATSAPP_WS_URL: 'ws://127.0.0.1:9000/ws/chat',
      WA2AI_WHATSAPP_MEDIA_HOST: '127.0.0.1:9001',
      WA2AI_WHATSAPP_VERSION: '2.3000.1023223821',
      WA2AI_WHATSAPP_VERSION_URL: 'https://mirror.example/sw.js',
      WA2AI_AGENT_TIMEOUT: '1s',
      WA2AI_MEDIA_TIMEOUT: '2s',
      WA2AI_FFMPEG: '/opt/ffmpeg',
      WA2AI_PUBLIC_URL: 'https://wa2ai.example.com/behind/',
      WA2AI_AGENT_TRY_FOR: '0',
      WA2AI_EGRESS: 'public',
      WA2AI_EXCHANGES: 'off',
      WA2AI_CONTAINER_ENGINE: 'unix:///run/podman/podman.sock',
      WA2AI_AGENTS_MAX_RUNNING: '5',
      WA2AI_PROCESS_AGENTS: 'on',
      WA2AI_AGENT_DISK: '100MB',
      WA2AI_AGENT_START_TIMEOUT: '5s',
      WA2AI_AGENTS_STOP_ON_EXIT: 'true',
      WA2AI_AGENTS_SUBNET: '172.30',
      WA2AI_AGENTS_NETWORKS: '10.1.0.0/16, fd00::1',
      WA2AI_AGENTS_SELINUX: 'Z',
      WA2AI_AGENTS_HOST_DIR: '/srv/wa2ai',
      WA2AI_AGENTS_OWN_CONTAINER: 'wa2ai',
      WA2AI_LEASE_TTL: '5s',
      WA2AI_ACK_TIMEOUT: '5000ms',
      WA2AI_LOOP_TURNS: '0',
      WA2AI_LOOP_REPLY: '700ms',
      WA2AI_RETENTION_TEXTS: '1d',
      WA2AI_RETENTION_FILES: '7d',
      WA2AI_MEDIA_STORE: 's3',
      WA2AI_MEDIA_RECEIVED: 'not-stored',
      WA2AI_MEDIA_DIR: '/srv/files',
      WA2AI_MEDIA_MAX_SIZE: '20MB',
      WA2AI_MEDIA_S3_ENDPOINT: 'https://s3.example.com',
      WA2AI_MEDIA_S3_BUCKET: 'files',
      WA2AI_MEDIA_S3_REGION: 'eu-west-1',
      WA2AI_MEDIA_S3_PREFIX: 'chat/',
      WA2AI_MEDIA_S3_ACCESS_KEY: 'AKID',
      WA2AI_MEDIA_S3_SECRET_KEY: 'hunter2',
      WA2AI_RETENTION_RECORDS: '96h',
      WA2AI_LOG_LEVEL: 'debug',
      WA2AI_LOG_FORMAT: 'pretty',
    });
    expect(config).toEqual({
      host: '0.0.0.0',
      port: 0,
      apiKey: KEY,
      environment: 'prod',
      dataDir: '/var/lib/wa2ai data',
      socket: { path: '/run/wa2ai.sock', isChosen: true },
      databaseUrl: 'postgresql://u:p@db:5432/wa2ai',
      nodeId: 'node-a',
      accountId: 'sales',
      pairingPhone: '5493777239922',
      maxMessageAgeMs: 60_000,
      whatsappWsUrl: 'ws://127.0.0.1:9000/ws/chat',
      whatsappMediaHost: '127.0.0.1:9001',
      whatsappVersion: [2, 3000, 1023223821],
      whatsappVersionUrl: 'https://mirror.example/sw.js',
      agentTimeoutMs: 1000,
      ffmpeg: '/opt/ffmpeg',
      publicUrl: 'https://wa2ai.example.com/behind',
      mediaTimeoutMs: 2_000,
      media: {
        store: 's3',
        storesReceived: false,
        dir: '/srv/files',
        maxBytes: 20_000_000,
        s3: {
          endpoint: 'https://s3.example.com',
          bucket: 'files',
          region: 'eu-west-1',
          prefix: 'chat/',
          accessKeyId: 'AKID',
          secretAccessKey: 'hunter2',
        },
      },
      agentTryForMs: 0,
      egress: 'public',
      exchanges: 'off',
      hosting: {
        ...{
          engine: 'unix:///run/podman/podman.sock',
          maxRunning: 5,
          processes: true,
          diskBytes: 100_000_000,
          startMs: 5_000,
        },
        ...{
          stopsOnExit: true,
          subnet: '172.30',
          networks: ['10.1.0.0/16', 'fd00::1'],
          selinux: 'Z',
          hostDir: '/srv/wa2ai',
          ownContainer: 'wa2ai',
        },
      },
      leaseTtlMs: 5_000,
      ackTimeoutMs: 5_000,
      loopTurns: 0,
      loopReplyMs: 700,
      retention: { textDays: 1, fileDays: 7, recordDays: 4 },
      oldRetention: {},
      logLevel: 'debug',
      logFormat: 'pretty',
      settings: expect.any(Array),
      renamed: [],
    });
  });

  it.each([
    ['WA2AI_MAX_MESSAGE_AGE_MS', 'WA2AI_MAX_MESSAGE_AGE', { maxMessageAgeMs: 2_000 }],
    ['WA2AI_AGENT_TIMEOUT_MS', 'WA2AI_AGENT_TIMEOUT', { agentTimeoutMs: 2_000 }],
    ['WA2AI_AGENT_DISK_MB', 'WA2AI_AGENT_DISK', { hosting: { diskBytes: 2_000 * 2 ** 20 } }],
    ['WA2AI_AGENT_START_MS', 'WA2AI_AGENT_START_TIMEOUT', { hosting: { startMs: 2_000 } }],
    ['WA2AI_MEDIA_MAX_MB', 'WA2AI_MEDIA_MAX_SIZE', { media: { maxBytes: 2_000_000_000 } }],
    ['WA2AI_LEASE_TTL_MS', 'WA2AI_LEASE_TTL', { leaseTtlMs: 2_000 }],
    ['WA2AI_ACK_TIMEOUT_MS', 'WA2AI_ACK_TIMEOUT', { ackTimeoutMs: 2_000 }],
    ['WA2AI_MEDIA_TIMEOUT_MS', 'WA2AI_MEDIA_TIMEOUT', { mediaTimeoutMs: 2_000 }],
    ['WA2AI_LOOP_REPLY_MS', 'WA2AI_LOOP_REPLY', { loopReplyMs: 2_000 }],
  ])('reads the number of %s as %s', (from, to, expected) => {
    expect(loadConfig({ [from]: '2000' })).toMatchObject({ ...expected, renamed: [{ from, to }] });
    expect(sentencesOf({ [from]: 'soon' })).toEqual([
      expect.stringMatching(new RegExp(`^${to} \\(from ${from}\\) must be a (time|size) from .*\\.$`)),
    ]);
  });

  it.each([
    [{ WA2AI_AGENT_PATIENCE_MS: '60000' }, 60_000],
    [{ WA2AI_AGENT_ATTEMPTS: '7' }, 120_000],
    [{ WA2AI_AGENT_ATTEMPTS: '1', WA2AI_AGENT_PATIENCE_MS: '0' }, 0],
    [{ WA2AI_AGENT_ATTEMPTS: '4', WA2AI_AGENT_PATIENCE_MS: '0' }, 3_500],
    [{ WA2AI_AGENT_PATIENCE_MS: '60000', WA2AI_AGENT_TRY_FOR: '1m' }, 60_000],
  ])('reads %j as WA2AI_AGENT_TRY_FOR, and names the earlier names', (env, agentTryForMs) => {
    const to = 'WA2AI_AGENT_TRY_FOR';
    const renamed = Object.keys(env).filter((from) => from !== to);
    expect(loadConfig(env)).toMatchObject({ agentTryForMs, renamed: renamed.map((from) => ({ from, to })) });
    const shown = loadConfig(env, false, new Set(renamed)).settings.find(({ name }) => name === to);
    expect(shown?.origin).toBe(
      'WA2AI_AGENT_TRY_FOR' in env || 'WA2AI_AGENT_PATIENCE_MS' in env ? 'env-file' : 'default',
    );
  });

  it('reads earlier variables of retention, and what follows from others now only where none says it', () => {
    const config = loadConfig({
      WA2AI_RETENTION_TEXT_DAYS: '20',
      WA2AI_RETENTION_FILES_DAYS: '10',
      WA2AI_RETENTION_AUDIT_DAYS: '0',
      WA2AI_RETENTION_WEBHOOKS_DAYS: '3',
    });
    expect(config.retention).toEqual({ textDays: 20, fileDays: 10, recordDays: 0 });
    expect(retentionDaysOf(config.retention, config)).toEqual({
      ...{ text: 20, outbox: 20, files: 10, exchanges: 7, deadLetters: 20, audit: 0 },
      ...{ workflows: 1, journal: 7, oldKeys: 30, webhooks: 3 },
    });
    expect(config.renamed.map(({ from }) => from).sort()).toEqual([
      'WA2AI_RETENTION_AUDIT_DAYS',
      'WA2AI_RETENTION_FILES_DAYS',
      'WA2AI_RETENTION_TEXT_DAYS',
      'WA2AI_RETENTION_WEBHOOKS_DAYS',
    ]);
    expect(sentencesOf({ WA2AI_RETENTION_OUTBOX_DAYS: '7' })).toEqual([
      'WA2AI_RETENTION_OUTBOX_DAYS must be 0 (for ever) or a whole number of days from 14 to 3650.',
    ]);
  });

  it.each([
    [5, { text: 5, outbox: 14, exchanges: 5, deadLetters: 5, webhooks: 5 }],
    [0, { text: 0, outbox: 0, exchanges: 7, deadLetters: 0, webhooks: 30 }],
  ])('keeps what belongs to texts that are kept %d days as long, with limits', (textDays, expected) => {
    const days = retentionDaysOf({ textDays, fileDays: 1, recordDays: 2 }, { oldRetention: {} });
    expect(days).toMatchObject({ ...expected, files: 1, audit: 2 });
  });

  it('returns a frozen object', () => {
    expect(Object.isFrozen(loadConfig({}))).toBe(true);
  });

  it('treats an empty variable as not set', () => {
    expect(loadConfig({ WA2AI_API_KEY: '', WA2AI_PORT: ' ' }).port).toBe(3000);
  });

  it('shows the value in force of a variable whose default is made of others', () => {
    const shown = (env: Record<string, string>) =>
      loadConfig(env, false).settings.find(({ name }) => name === 'WA2AI_SOCKET');
    expect(shown({ WA2AI_DATA_DIR: '/data' })).toMatchObject({
      value: '/data/wa2ai.sock',
      origin: 'default',
    });
    expect(shown({ WA2AI_SOCKET: 'off' })).toMatchObject({ value: 'off', origin: 'environment' });
  });

  it('logs pretty lines on a terminal and JSON elsewhere', () => {
    expect(loadConfig({}, true).logFormat).toBe('pretty');
    expect(loadConfig({ WA2AI_LOG_FORMAT: 'json' }, true).logFormat).toBe('json');
  });

  it.each([
    ['WA2AI_HOST', 'http://x/'],
    ['WA2AI_PORT', 'http'],
    ['WA2AI_PORT', '65536'],
    ['WA2AI_PORT', '-1'],
    ['WA2AI_PORT', '30.5'],
    ['WA2AI_PORT', '0x10'],
    ['WA2AI_API_KEY', 'short'],
    ['WA2AI_API_KEY', 'with a space in the middle'],
    ['WA2AI_ENVIRONMENT', 'production'],
    ['WA2AI_CONTAINER_ENGINE', 'http://127.0.0.1:2375'],
    ['WA2AI_AGENTS_MAX_RUNNING', '0'],
    ['WA2AI_AGENTS_STOP_ON_EXIT', 'yes'],
    ['WA2AI_AGENTS_SUBNET', '8.8'],
    ['WA2AI_AGENTS_NETWORKS', '10.1.0.0/33'],
    ['WA2AI_AGENTS_NETWORKS', 'internal.example'],
    ['WA2AI_AGENTS_NETWORKS', '10.0.0.1; reject'],
    ['WA2AI_AGENTS_OWN_CONTAINER', 'a b'],
    ['DATABASE_URL', 'mysql://root@localhost/x'],
    ['DATABASE_URL', 'localhost'],
    ['WA2AI_NODE_ID', 'a/b'],
    ['WA2AI_ACCOUNT_ID', '../x'],
    ['WA2AI_PAIRING_PHONE', 'my phone'],
    ['WA2AI_PAIRING_PHONE', '12'],
    ['WA2AI_MAX_MESSAGE_AGE', '31d'],
    ['WA2AI_MEDIA_MAX_SIZE', '10'],
    ['WA2AI_MEDIA_MAX_SIZE', '9MB'],
    ['WA2AI_WHATSAPP_WS_URL', 'https://example.com'],
    ['WA2AI_WHATSAPP_WS_URL', 'nowhere'],
    ['WA2AI_WHATSAPP_VERSION', '2.3000'],
    ['WA2AI_WHATSAPP_VERSION', 'latest'],
    ['WA2AI_WHATSAPP_VERSION_URL', 'http://web.whatsapp.com/sw.js'],
    ['WA2AI_WHATSAPP_VERSION_URL', 'https://user:password@web.whatsapp.com/sw.js'],
    ['WA2AI_WHATSAPP_VERSION_URL', 'sw.js'],
    ['WA2AI_AGENT_TIMEOUT', '30000'],
    ['WA2AI_AGENT_TIMEOUT', '1ms'],
    ['WA2AI_AGENT_TRY_FOR', '3600001ms'],
    ['WA2AI_AGENT_TRY_FOR', '61m'],
    ['WA2AI_AGENT_TRY_FOR', '1 day'],
    ['WA2AI_EGRESS', 'none'],
    ['WA2AI_EXCHANGES', 'yes'],
    ['WA2AI_LOG_LEVEL', 'loud'],
    ['WA2AI_LOG_FORMAT', 'xml'],
  ])('throws one sentence that names %s when it is %j', (name, value) => {
    const sentences = sentencesOf({ [name]: value });
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toMatch(new RegExp(`^${name} must .*\\.$`));
  });

  it('reports every wrong variable at once, one sentence each', () => {
    expect(sentencesOf({ WA2AI_PORT: 'x', WA2AI_LOG_LEVEL: 'x', WA2AI_API_KEY: ' a b ' })).toHaveLength(3);
  });

  it('never includes the value of a secret', () => {
    const sentences = sentencesOf({ WA2AI_API_KEY: 'hunter2', DATABASE_URL: 'mysql://u:hunter2@h/d' });
    expect(sentences.join()).not.toContain('hunter2');
  });

  it.each(['0.0.0.0', '::', '192.168.1.5', 'wa2ai.example'])(
    'refuses to listen on %s without a key',
    (host) => {
      expect(sentencesOf({ WA2AI_HOST: host })).toEqual([
        expect.stringMatching(/^WA2AI_API_KEY must be set because WA2AI_HOST is /),
      ]);
      expect(sentencesOf({ WA2AI_HOST: host, WA2AI_API_KEY: KEY })).toEqual([]);
    },
  );
});

const S3 = {
  WA2AI_MEDIA_S3_ENDPOINT: 'https://s3.example.com',
  WA2AI_MEDIA_S3_BUCKET: 'files',
  WA2AI_MEDIA_S3_ACCESS_KEY: 'AKID',
  WA2AI_MEDIA_S3_SECRET_KEY: 'hunter2',
};

describe('the store of files', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['S3 without its settings', { WA2AI_MEDIA_STORE: 's3' }, Object.keys(S3)],
    ['S3 in part', { ...S3, WA2AI_MEDIA_S3_BUCKET: '' }, ['WA2AI_MEDIA_S3_BUCKET']],
    ['S3 to read from', S3, []],
    ['the folder of one node', { WA2AI_MEDIA_STORE: 'disk' }, []],
    [
      'the folder of one node with a database for several',
      { WA2AI_MEDIA_STORE: 'disk', DATABASE_URL: 'postgresql://u:p@db/d' },
      ['WA2AI_MEDIA_DIR'],
    ],
    [
      'a shared folder',
      { WA2AI_MEDIA_STORE: 'disk', DATABASE_URL: 'postgresql://u:p@db/d', WA2AI_MEDIA_DIR: '/srv' },
      [],
    ],
    ['an unknown store', { WA2AI_MEDIA_STORE: 'tape' }, ['WA2AI_MEDIA_STORE']],
  ])('is checked: %s', (_, env, wrong) => {
    const sentences = sentencesOf(env);
    expect(sentences.map((sentence) => sentence.split(' ')[0])).toEqual(wrong);
    expect(sentences.join()).not.toContain('hunter2');
  });
});

describe('secrets in files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wa2ai secrets '));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('are read without the line end that editors and openssl add', () => {
    const config = loadConfig({ WA2AI_HOST: '0.0.0.0', WA2AI_API_KEY_FILE: file('key', `${KEY}\n`) });
    expect(config.apiKey).toBe(KEY);
  });

  it('become the secret of S3', () => {
    const { WA2AI_MEDIA_S3_SECRET_KEY: _, ...others } = S3;
    const secret = file('secret', 'hunter2\n');
    const { media } = loadConfig({ ...others, WA2AI_MEDIA_S3_SECRET_KEY_FILE: secret });
    expect(media.s3?.secretAccessKey).toBe('hunter2');
  });

  it.each(['0A'.repeat(32), `0x${'0a'.repeat(32)}`])('become the key of the wallet: %s', (text) => {
    const wallet = file('wallet', `${text}\n`);
    expect(loadConfig({ WA2AI_NPC_WALLET_KEY_FILE: wallet }).npcWalletKey).toBe(`0x${'0a'.repeat(32)}`);
  });

  it.each(['my secret words', '0'.repeat(64), 'f'.repeat(64), '0x12'])(
    'are refused without being quoted: the key of a wallet %s',
    (text) => {
      expect(sentencesOf({ WA2AI_NPC_WALLET_KEY_FILE: file('wallet', text) })).toEqual([
        'WA2AI_NPC_WALLET_KEY (from WA2AI_NPC_WALLET_KEY_FILE) must be a private key: 64 hexadecimal digits.',
      ]);
    },
  );

  it('may be each variable that is a secret', () => {
    const secrets = loadConfig({}).settings.filter(({ isSecret }) => isSecret);
    expect(secrets.map(({ name }) => name)).toEqual([
      'WA2AI_API_KEY',
      'DATABASE_URL',
      'DATABASE_PASSWORD',
      'WA2AI_NPC_WALLET_KEY',
      'WA2AI_MEDIA_S3_SECRET_KEY',
    ]);
    for (const { name } of secrets) {
      expect(sentencesOf({ [`${name}_FILE`]: join(folder, 'none') })).toEqual([
        expect.stringMatching(new RegExp(`^${name}_FILE must name a file`)),
      ]);
    }
  });

  it('become the password of DATABASE_URL, whatever characters they contain', () => {
    const password = 'p@ss/w%41rd:#?';
    const { databaseUrl } = loadConfig({
      DATABASE_URL: 'postgresql://wa2ai@db:5432/wa2ai',
      DATABASE_PASSWORD_FILE: file('password', `${password}\n`),
    });
    expect(new pg.Client(databaseUrl)).toMatchObject({
      user: 'wa2ai',
      password,
      host: 'db',
      database: 'wa2ai',
    });
  });

  it.each<[string, () => Record<string, string>]>([
    ['a key file that is missing', () => ({ WA2AI_API_KEY_FILE: join(folder, 'none') })],
    ['a key file that is a folder', () => ({ WA2AI_API_KEY_FILE: folder })],
    ['an empty key file', () => ({ WA2AI_API_KEY_FILE: file('key', ' \n') })],
    ['a key twice', () => ({ WA2AI_API_KEY: KEY, WA2AI_API_KEY_FILE: file('key', KEY) })],
    ['a short key', () => ({ WA2AI_API_KEY_FILE: file('key', 'hunter2') })],
    ['a password without a URL', () => ({ DATABASE_PASSWORD_FILE: file('password', 'hunter2') })],
    [
      'a password twice',
      () => ({ DATABASE_URL: 'postgresql://u:p@db/d', DATABASE_PASSWORD_FILE: file('password', 'hunter2') }),
    ],
    ['the secret of S3 twice', () => ({ ...S3, WA2AI_MEDIA_S3_SECRET_KEY_FILE: file('secret', 'hunter2') })],
  ])('cause one sentence for %s, also when the address is not loopback', (_, env) => {
    const given = env();
    const host = 'WA2AI_API_KEY_FILE' in given ? '0.0.0.0' : '127.0.0.1';
    const sentences = sentencesOf({ WA2AI_HOST: host, ...given });
    expect(sentences).toEqual([
      expect.stringMatching(
        /^(WA2AI_API_KEY|DATABASE_PASSWORD|WA2AI_MEDIA_S3_SECRET_KEY)(_FILE| \(from \w+_FILE\))? must .*\.$/,
      ),
    ]);
    expect(sentences.join()).not.toContain('hunter2');
  });
});
