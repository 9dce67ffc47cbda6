import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../router/src/core/client-version.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { WITHOUT_NOTICES } from '../support/shaping.ts';
import { TestBed } from '../support/test-bed.ts';
import { TestProxy } from '../support/test-proxy.ts';
import { MEDIA_NAME, makeTestCertificate } from '../whatsapp-emulator/certificate.ts';

const LOGIN = { user: 'router', password: 'p@ss:w%rd-of-the-proxy' };
/** An address where nobody listens, and a name that no resolver knows: what the emulator sees has come through the proxy. */
const SOCKET = '127.9.9.9:65533';
const MEDIA = `${MEDIA_NAME}:443`;
const NEWER = Number(BUILT_IN.version.split('.')[2]) + 3_000_000;
const PNG = Buffer.from('\x89PNG\r\n\x1a\nof a person', 'latin1');

const closes: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** A service that reaches its WhatsApp through a proxy only, not started yet, and that proxy. */
async function setup(scheme: 'http' | 'https' | 'socks5') {
  const bed = await TestBed.start();
  closes.push(() => bed.close());
  const { emulator } = bed;
  emulator.mediaHost.announced = MEDIA_NAME;
  const mediaPort = Number(emulator.mediaHost.hostname.split(':')[1]);
  const certificate = makeTestCertificate('wa2ai proxy, test only');
  const proxy = await TestProxy.start({
    scheme,
    login: LOGIN,
    certificate,
    servers: { [SOCKET]: emulator.port, [MEDIA]: mediaPort },
  });
  closes.push(() => proxy.stop());
  const folder = await mkdtemp(join(tmpdir(), 'wa2ai-proxy-'));
  closes.push(() => rm(folder, { recursive: true, force: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, (await readFile(emulator.mediaHost.caFile, 'utf8')) + certificate.cert);
  const env = {
    WA2AI_WHATSAPP_WS_URL: `ws://${SOCKET}${new URL(emulator.url).pathname}`,
    WA2AI_WHATSAPP_MEDIA_HOST: MEDIA_NAME,
    NODE_EXTRA_CA_CERTS: caFile,
  };
  return { bed, proxy, env };
}

/** As `setup`, with the account paired through the proxy and answered by an agent. */
async function paired(scheme: 'http' | 'https' | 'socks5') {
  const all = await setup(scheme);
  const service = await all.bed.startService(all.env);
  await setProxy(all.bed, { url: all.proxy.url() });
  await pairByQr(service, all.bed.phone, all.bed.emulator);
  await service.addRoute('*', all.bed.agent.url);
  await all.bed.converse({ notices: WITHOUT_NOTICES });
  return all;
}

async function setProxy(bed: TestBed, proxy: { url: string } | null) {
  const { status, body } = await bed.service.api('PUT', '/api/accounts/default', { proxy });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

async function account(bed: TestBed): Promise<Record<string, unknown>> {
  const { body } = await bed.service.api('GET', '/api/accounts/default');
  return body.data as Record<string, unknown>;
}

async function expectAnAnswer(bed: TestBed, text: string): Promise<void> {
  const person = bed.person();
  await person.say(text, { to: bed.phone });
  expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
}

describe.each(['http', 'https', 'socks5'] as const)('An account with a proxy (%s)', (scheme) => {
  it('makes every connection through it, and shows its password nowhere', async () => {
    const { bed, proxy } = await paired(scheme);
    const shown = `${scheme}://***@${new URL(proxy.url()).host}`;
    expect(await account(bed)).toMatchObject({ state: 'open', proxy: { url: shown } });
    await expectAnAnswer(bed, 'hello');
    expect(new Set(proxy.targets)).toEqual(new Set([SOCKET]));

    const ana = bed.person();
    const picture = bed.emulator.mediaHost.message('image', PNG, { mimeType: 'image/png' });
    const { id } = await bed.untilTurnEnded(await ana.say(picture, { to: bed.phone }));
    const file = await fetch(`${bed.service.url}/api/messages/${id}/file`);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(PNG);
    expect(proxy.targets.filter((target) => target === MEDIA)).toHaveLength(1);
    const form = new FormData();
    form.set('to', ana.phone);
    form.set('document', new Blob(['the plan']), 'plan.txt');
    const sent = await fetch(`${bed.service.url}/api/messages`, { method: 'POST', body: form });
    expect(sent.status, await sent.text()).toBe(202);
    const { message } = await ana.nextReply();
    expect(String(bed.emulator.mediaHost.open(message))).toBe('the plan');

    // The look-up of the version after a refusal, and the connection with what it found.
    bed.emulator.versionPage.revision = NEWER;
    bed.emulator.faults.refusedBelow = NEWER;
    const looked = bed.emulator.versionPage.requests.length;
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    bed.emulator.drop();
    await live;
    await untilState(bed.service, 'open');
    expect(bed.emulator.versionPage.requests.length).toBeGreaterThan(looked);
    expect(new Set(proxy.targets)).toEqual(new Set([SOCKET, MEDIA]));

    const seen = [
      bed.service.output,
      ...(await Promise.all(
        ['accounts', 'accounts/default', 'accounts/default/history', 'audit', 'logs', 'messages'].map(
          async (path) => JSON.stringify(await bed.service.api('GET', `/api/${path}`)),
        ),
      )),
      await (await fetch(`${bed.service.url}/metrics`)).text(),
    ].join('\n');
    for (const secret of [LOGIN.password, encodeURIComponent(LOGIN.password), LOGIN.user]) {
      expect(seen).not.toContain(secret === LOGIN.user ? `${secret}:` : secret);
    }
  });
});

describe('An account that is added with its proxy', () => {
  it('shows its first QR code and links a phone through the proxy only, and its password nowhere', async () => {
    const { bed, proxy, env } = await setup('socks5');
    // Directly, nobody can connect to the address of WhatsApp here.
    const service = await bed.startService(env);
    const { status } = await service.api('POST', '/api/accounts', {
      id: 'sales',
      proxy: { url: proxy.url() },
    });
    expect(status).toBe(201);
    const sales = async () => (await service.api('GET', '/api/accounts/sales')).body.data as { qr?: string };
    await expect.poll(sales, { timeout: 60_000 }).toMatchObject({ state: 'pairing', qr: expect.any(String) });
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    await Promise.all([bed.phone.scan((await sales()).qr ?? ''), live]);
    await expect.poll(sales, { timeout: 60_000 }).toMatchObject({
      state: 'open',
      proxy: { url: `socks5://***@${new URL(proxy.url()).host}` },
    });
    expect(new Set(proxy.targets)).toEqual(new Set([SOCKET]));
    const { body } = await service.api('GET', '/api/audit');
    expect(JSON.stringify(body) + service.output).not.toContain(LOGIN.password);
  });
});

describe.each(['http', 'socks5'] as const)('A proxy that does not work (%s)', (scheme) => {
  it('is a state of the account, which recovers: with a wrong password, ended in the middle, down at the start', async () => {
    const { bed, proxy, env } = await paired(scheme);
    await expectAnAnswer(bed, 'before');

    // A wrong password.
    await setProxy(bed, { url: proxy.url({ ...LOGIN, password: 'wrong' }) });
    await untilState(bed.service, 'proxy-failed');
    expect(await account(bed)).toMatchObject({
      reason: 'The proxy of this account refuses its user name or password.',
      nextAction: expect.stringMatching(
        /^Check the proxy of this account.* never connects .* without its proxy\.$/,
      ),
      retryAt: expect.any(String),
      isConnected: false,
    });
    await setProxy(bed, { url: proxy.url() });
    await untilState(bed.service, 'open');

    // It dies in the middle.
    const ana = bed.person();
    await proxy.stop();
    await untilState(bed.service, 'proxy-failed');
    expect((await account(bed)).reason).toBe('The proxy of this account does not answer (ECONNREFUSED).');
    await ana.say('meanwhile', { to: bed.phone });
    await proxy.listen();
    expect((await ana.nextReply()).text).toBe('Echo: meanwhile');

    // It is down at the start.
    await bed.service.end();
    await proxy.stop();
    await bed.startService(env);
    await untilState(bed.service, 'proxy-failed');
    await proxy.listen();
    await untilState(bed.service, 'open');
    await expectAnAnswer(bed, 'after');
  });
});

describe('The proxy of an account', () => {
  it('can be removed: the account then connects directly, and other accounts never used it', async () => {
    const bed = await TestBed.startPaired();
    closes.push(() => bed.close());
    const proxy = await TestProxy.start({
      scheme: 'http',
      servers: { [new URL(bed.emulator.url).host]: bed.emulator.port },
    });
    closes.push(() => proxy.stop());
    expect(await account(bed)).not.toHaveProperty('proxy');
    expect(proxy.targets).toEqual([]);

    const through = bed.emulator.waitFor('live', undefined, 60_000);
    expect(await setProxy(bed, { url: proxy.url() })).toMatchObject({ proxy: { url: proxy.url() } });
    await through;
    await untilState(bed.service, 'open');
    expect(proxy.targets).toEqual([new URL(bed.emulator.url).host]);
    await expectAnAnswer(bed, 'through the proxy');

    const direct = bed.emulator.waitFor('live', undefined, 60_000);
    expect(await setProxy(bed, null)).not.toHaveProperty('proxy');
    await direct;
    await untilState(bed.service, 'open');
    await expectAnAnswer(bed, 'directly');
    expect(proxy.targets).toHaveLength(1);
  });

  it('that hangs is a state too', async () => {
    const { bed, proxy } = await paired('socks5');
    proxy.isSilent = true;
    bed.emulator.drop();
    await untilState(bed.service, 'proxy-failed');
    expect((await account(bed)).reason).toBe('The proxy of this account did not answer within 10 s.');
  });
});
