import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { pairByQr } from '../support/pairing.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import { TestProxy } from '../support/test-proxy.ts';

const CLI = join(repositoryRoot, 'dist/service/cli.js');
const LOGIN = { user: 'router', password: 'a-password-of-the-proxy' };

const closes: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

function liveDoctor(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [CLI, 'doctor', '--live', ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}

describe('wa2ai doctor --live', () => {
  it('reports how WhatsApp and the accounts are, without anything of the operator', async () => {
    const bed = await TestBed.start();
    closes.push(() => bed.close());
    const { emulator, phone } = bed;
    const service = await bed.startService({ WA2AI_ACCOUNT_ID: 'secret-shop' });
    await pairByQr(service, phone, emulator);
    const env = { WA2AI_WHATSAPP_WS_URL: emulator.url, ...emulator.mediaEnv };
    const direct = await liveDoctor(env, '--url', service.url);
    for (const sentence of [
      /^ok +whatsapp +WhatsApp answers\.$/m,
      /^ok +socket +WhatsApp opens a WebSocket\.$/m,
      /^ok +media +WhatsApp answers for media\.$/m,
      /^ok +clock +The clock of this machine and WhatsApp's differ by \d+ s\.$/m,
      /^ok +version +WhatsApp Web has version 2\.3000\.\d+ now\./m,
      /^ok +account +Account 1: State open for \d+ min\. Version 2\.3000\.\d+ \(built-in\), \d+ days old\.$/m,
    ]) {
      expect(direct.output).toMatch(sentence);
    }
    expect(direct.code).toBe(0);

    const proxy = await TestProxy.start({
      scheme: 'socks5',
      login: LOGIN,
      servers: { [new URL(emulator.url).host]: emulator.port },
    });
    closes.push(() => proxy.stop());
    const live = emulator.waitFor('live', undefined, 60_000);
    const { status } = await service.api('PUT', '/api/accounts/secret-shop', { proxy: { url: proxy.url() } });
    expect(status).toBe(200);
    await live;
    const seen = emulator.mediaHost.hostname;
    const through = await liveDoctor(env, '--url', service.url);
    expect(through.output).toMatch(/its proxy \(socks5, with a login\) accepts connections\.$/m);
    expect(through.output).toContain(
      'All accounts have a proxy, so this machine did not connect to WhatsApp directly.',
    );
    expect(through.output).not.toMatch(/ socket | media /);
    await proxy.stop();
    const broken = await liveDoctor(env, '--url', service.url);
    expect(broken.output).toMatch(/^error +proxy +Account 1: its proxy .* \(ECONNREFUSED\)\.$/m);
    expect(broken.code).toBe(1);

    for (const { output } of [direct, through, broken]) {
      for (const own of [
        phone.pn.split('@')[0] as string,
        'secret-shop',
        hostname(),
        '127.0.0.1',
        '@',
        LOGIN.user,
        LOGIN.password,
        seen,
      ]) {
        expect(output).not.toContain(own);
      }
    }
  });

  it('says what is missing and ends with 1 without a network', async () => {
    const bed = await TestBed.start();
    const { emulator } = bed;
    const env = {
      WA2AI_WHATSAPP_WS_URL: emulator.url,
      WA2AI_WHATSAPP_MEDIA_HOST: emulator.mediaHost.hostname,
      WA2AI_PORT: String(emulator.port),
      WA2AI_SOCKET: 'off',
    };
    await bed.close();
    const { code, output } = await liveDoctor(env);
    expect(code).toBe(1);
    for (const sentence of [
      /^error +whatsapp +WhatsApp does not answer \(ECONNREFUSED\)\.$/m,
      /^error +socket +WhatsApp opens no WebSocket \(ECONNREFUSED\)\.$/m,
      /^error +media +WhatsApp does not answer for media \(ECONNREFUSED\)\.$/m,
      /^warning +version +The version of WhatsApp Web could not be read\./m,
      /^warning +service +wa2ai does not run on this machine/m,
      /Allow outgoing connections to web\.whatsapp\.com and \*\.whatsapp\.net on port 443\./,
    ]) {
      expect(output).toMatch(sentence);
    }
    expect(output).not.toContain('127.0.0.1');
  });
});
