import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkWhatsApp, proxyFindings } from '../../../router/src/features/doctor/check-network.ts';
import {
  checkDisk,
  checkNode,
  checkPort,
  checkSecretFile,
  clockFinding,
  examine,
  migrationFinding,
  versionFindings,
} from '../../../router/src/features/doctor/examine.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { unusedPort } from '../../support/unused-port.ts';

const NOW_MS = Date.UTC(2026, 10, 23, 12);

let folder: string;
let server: ReturnType<typeof createServer>;
let port: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-doctor-'));
  server = createServer((_, response) => {
    response.setHeader('date', new Date(NOW_MS).toUTCString());
    response.writeHead(404).end();
  });
  port = await unusedPort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

function close(): Promise<void> {
  return new Promise((resolve) => {
    server.closeAllConnections();
    server.close(() => resolve());
  });
}

describe('wa2ai doctor', () => {
  it.each([
    ['20.18.9', 'error'],
    ['18.20.0', 'error'],
    ['20.19.0', 'ok'],
    ['22.1.0', 'ok'],
  ])('judges Node.js %s as %s', (version, level) => {
    expect(checkNode(version)).toMatchObject({ level });
  });

  it('finds a port that another program uses, and none when wa2ai itself does', async () => {
    const used = await checkPort('127.0.0.1', port, false);
    expect(used).toMatchObject({ level: 'error', message: /Another program/, fix: /WA2AI_PORT/ });
    expect(await checkPort('127.0.0.1', port, true)).toMatchObject({ level: 'ok' });
    await close();
    expect(await checkPort('127.0.0.1', port, false)).toMatchObject({ level: 'ok' });
  });

  it('finds the space for a data folder that does not exist yet', async () => {
    expect(await checkDisk(join(folder, 'not/yet'))).toMatchObject({ message: /GB are free/ });
  });

  it('finds a secret that every user can read', async () => {
    const path = join(folder, 'key');
    expect(await checkSecretFile(path)).toBeUndefined();
    await writeFile(path, 'x');
    await chmod(path, 0o644);
    expect(await checkSecretFile(path)).toMatchObject({ level: 'warning', fix: `Run: chmod 600 ${path}` });
    await chmod(path, 0o640);
    expect(await checkSecretFile(path)).toMatchObject({ level: 'ok' });
  });

  it('compares the migrations of the database with its own', () => {
    expect(migrationFinding(['a', 'b'], ['a', 'b'])).toMatchObject({ level: 'ok' });
    expect(migrationFinding(['a'], ['a', 'b'])).toMatchObject({ level: 'warning', fix: /wa2ai backup/ });
    expect(migrationFinding(['a', 'z'], ['a', 'b'])).toMatchObject({ level: 'error', message: /"z"/ });
  });

  it('does not count the time of the question as a wrong clock', () => {
    expect(clockFinding(5_000, 0, 9_000)).toMatchObject({ level: 'ok' });
    expect(clockFinding(20_000, 0, 1_000)).toMatchObject({ level: 'warning', message: /by 19 s/ });
    expect(clockFinding(0, 20_000, 21_000)).toMatchObject({ level: 'warning', message: /by 20 s/ });
  });

  it('shows each version that accounts announce, and warns from day 90 on and when WhatsApp refuses one', () => {
    const dayMs = 86_400_000;
    const of = (days: number, more = {}) =>
      ({ version: `2.3000.${days}`, source: 'look-up', sinceMs: NOW_MS - days * dayMs, ...more }) as const;
    expect(
      versionFindings([of(89), of(89), of(90), of(1, { refusedSinceMs: NOW_MS })], NOW_MS),
    ).toMatchObject([
      { level: 'ok', message: 'WhatsApp Web version 2.3000.89, 89 days old. It was found at WhatsApp.' },
      {
        level: 'warning',
        message: expect.stringMatching(/90 days old/),
        fix: expect.stringMatching(/WA2AI_WHATSAPP_VERSION=auto/),
      },
      { level: 'error', message: expect.stringMatching(/refuses it since 2026-11-23T12:00:00\.000Z/) },
    ]);
  });

  it('finds a proxy that does not connect its account, and shows the others', () => {
    const url = 'socks5://***@proxy.example:1080';
    const reason = 'The proxy of this account refuses its user name or password.';
    expect(
      proxyFindings([
        { accountId: 'direct', state: 'open' },
        { accountId: 'shop', state: 'open', proxy: { url } },
        { accountId: 'sales', state: 'proxy-failed', reason, proxy: { url } },
      ]),
    ).toEqual([
      { check: 'proxy', level: 'ok', message: `Account shop is connected through ${url}.` },
      {
        check: 'proxy',
        level: 'error',
        message: `Account sales: ${reason}`,
        fix: 'Correct the proxy: wa2ai accounts proxy sales FILE, or the page Accounts.',
      },
    ]);
  });

  it('finds a WhatsApp that does not answer, and a clock that differs', async () => {
    const url = `http://127.0.0.1:${port}/`;
    expect(await checkWhatsApp(() => NOW_MS, url)).toMatchObject([{ level: 'ok' }]);
    const late = await checkWhatsApp(() => NOW_MS + 300_000, url);
    expect(late).toMatchObject([{ level: 'ok' }, { check: 'clock', level: 'error', message: /by 300 s/ }]);
    await close();
    expect(await checkWhatsApp(() => NOW_MS, url)).toMatchObject([
      { level: 'error', message: /ECONNREFUSED/ },
    ]);
  });

  it('finds nothing wrong before the first start, and creates nothing', async () => {
    const dataDir = join(folder, 'data');
    const env = {
      WA2AI_DATA_DIR: dataDir,
      WA2AI_PORT: '0',
      WA2AI_WHATSAPP_WS_URL: `ws://127.0.0.1:${port}/ws/chat`,
    };
    const findings = await examine({ env, service: undefined, log: quietLog, nowMs: () => NOW_MS });
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['disk', 'database', 'whatsapp', 'egress']),
    );
    await expect(rm(dataDir, { recursive: true })).rejects.toThrow(/ENOENT/);
  });
});
