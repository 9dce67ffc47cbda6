import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MockAgent } from '../support/mock-agent.ts';
import { repositoryRoot } from '../support/repository.ts';
import { newNumber } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { dockerJson, run } from './command.ts';
import { HostGateway, makeCertificate } from './host-gateway.ts';

const IMAGE = 'wa2ai-image-test';
const MAX_MEGABYTES = 300;
/** Without Node, whose versions have different sizes: Node 24 has 108 MB on x64, 20 has 86. */
const MAX_MEGABYTES_WITHOUT_NODE = 190;
const LIMIT_MS = 120_000;

/** Tests that need each kind of file in the image: packages outside of the bundle, chunks that are loaded late, and assets. */
const FEATURES = {
  e2e: ['abi', 'hosted-agents', 'reply-shape', 'shell-agents'],
  slow: ['crash-long-tasks', 'mcp', 'route-conditions', 'send-files'],
};

const { isExternal } = (await import(pathToFileURL(join(repositoryRoot, 'scripts', 'bundle.mjs')).href)) as {
  isExternal(name: string): boolean;
};

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-image-test-'));
  const env = { DOCKER_BUILDKIT: process.env.DOCKER_BUILDKIT ?? '1' };
  await run('docker', ['build', '-t', IMAGE, repositoryRoot], { env, limitMs: 1_200_000 });
}, 1_200_000);

afterAll(async () => {
  await run('docker', ['image', 'rm', '-f', IMAGE]);
  rmSync(folder, { recursive: true });
});

/** Runs a program in a container of the image, as docker-compose.yml does. */
function inContainer(...command: string[]): Promise<string> {
  return run('docker', [
    'run',
    '--rm',
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    IMAGE,
    ...command,
  ]);
}

/** Runs a module in a container, and gives what it printed. */
function evaluated(program: string): Promise<string> {
  return inContainer('node', '--input-type=module', '--eval', program);
}

/** Sets `packages` to the installed packages by name. */
const PACKAGES = `import { readFileSync } from 'node:fs';
  const { packages: all } = JSON.parse(readFileSync('node_modules/.package-lock.json', 'utf8'));
  const packages = Object.fromEntries(Object.entries(all)
    .map(([path, entry]) => [path.replace('node_modules/', ''), entry])
    .filter(([name]) => !name.includes('node_modules/')));`;

/** Prints the names of scripts whose cached code this Node does not take. */
const REJECTED_CODE = `import { readFileSync, readdirSync } from 'node:fs';
  import vm from 'node:vm';
  const folder = '/app/dist/service/';
  const files = readdirSync(folder);
  const [setHeapFlags] = Object.values(await import(folder + files.find((name) => /^heap-flags.*\\.js$/.test(name))));
  setHeapFlags();
  const rejected = files.filter((name) => name.endsWith('.cache')).filter((name) => {
    const filename = folder + name.replace('.cache', '.cjs');
    const script = new vm.Script(readFileSync(filename, 'latin1'), { filename, cachedData: readFileSync(folder + name) });
    return script.cachedDataRejected;
  });
  console.log(JSON.stringify(rejected));`;

describe('the image', () => {
  it(`has at most ${MAX_MEGABYTES} MB`, async () => {
    const [image] = await dockerJson<Array<{ Size: number }>>('image', 'inspect', IMAGE);
    const megabytes = (image?.Size ?? 0) / 1e6;
    const node = Number(await inContainer('stat', '-c', '%s', '/usr/local/bin/node')) / 1e6;
    console.log(`the image has ${megabytes.toFixed(1)} MB, ${node.toFixed(1)} of them Node`);
    expect(megabytes).toBeGreaterThan(150);
    expect(megabytes).toBeLessThanOrEqual(MAX_MEGABYTES);
    expect(megabytes - node).toBeLessThanOrEqual(MAX_MEGABYTES_WITHOUT_NODE);
  });

  it('can load each package that is not in the bundle, and its code cache', async () => {
    const names = Object.keys(
      JSON.parse(await evaluated(`${PACKAGES} console.log(JSON.stringify(packages))`)),
    ).filter(isExternal);
    expect(names).toEqual(expect.arrayContaining(['@dbos-inc/dbos-sdk', 'dockerode', 'libsignal', 'sharp']));
    const program = `for (const name of ${JSON.stringify(names)}) await import(name); console.log('loaded')`;
    expect(await evaluated(program)).toBe('loaded');
    expect(await evaluated(REJECTED_CODE)).toBe('[]');
  });

  it('keeps manifests and licences of the packages in the bundle, and none of their code', async () => {
    const listed = await inContainer('ls', 'node_modules/express', 'node_modules/@whiskeysockets/baileys');
    const files = listed.split('\n').filter((line) => line !== '' && !line.endsWith(':'));
    expect(files.sort()).toEqual(['LICENSE', 'LICENSE', 'package.json', 'package.json']);
  });

  it('makes previews of pictures', async () => {
    const picture = '{ create: { width: 64, height: 64, channels: 3, background: "red" } }';
    const program = `const { default: sharp } = await import('sharp');
      const preview = await sharp(await sharp(${picture}).png().toBuffer()).resize(32).jpeg().toBuffer();
      console.log((await sharp(preview).metadata()).width)`;
    expect(await evaluated(program)).toBe('32');
  });

  it('runs with its own PostgreSQL on a read-only file system: pairs, answers, shows pages, writes a backup', async () => {
    const certificate = await makeCertificate(folder);
    const [emulator, agent] = await Promise.all([WhatsAppEmulator.start(), MockAgent.start()]);
    const gateways = [await HostGateway.to(emulator.url, certificate), await HostGateway.to(agent.url)];
    const key = randomBytes(16).toString('hex');
    const whatsapp = gateways[0]?.seenFromContainers('wss', new URL(emulator.url).pathname);
    const container = await run('docker', [
      ...['run', '-d', '--init', '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL'],
      ...['--security-opt', 'no-new-privileges', '-p', '127.0.0.1::3000'],
      ...['--add-host', 'host.docker.internal:host-gateway', '-v', `${certificate.file}:/certificate.pem:ro`],
      ...['-e', 'NODE_EXTRA_CA_CERTS=/certificate.pem', '-e', `WA2AI_API_KEY=${key}`],
      ...['-e', `WA2AI_WHATSAPP_WS_URL=${whatsapp}`, IMAGE],
    ]);
    try {
      const healthy = async () => {
        const state = await run('docker', ['inspect', '-f', '{{.State.Health.Status}}', container]);
        return state === 'healthy' ? state : undefined;
      };
      await until('a healthy container', healthy, LIMIT_MS);
      expect(await run('docker', ['exec', container, 'id', '-u'])).toBe('1000');

      const published = await run('docker', ['port', container, '3000/tcp']);
      const fetched = async (path: string, body?: unknown) =>
        fetch(`http://${published}${path}`, {
          headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
          ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        });
      const account = async () => {
        const { data } = (await (await fetched('/api/accounts/default')).json()) as {
          data: { qr?: string; state: string };
        };
        return data;
      };
      const phone = createPhone(emulator, { phone: newNumber('349') });
      const ana = createPerson(emulator, { phone: newNumber('346') });
      const qr = await until('a QR code', async () => (await account()).qr, LIMIT_MS);
      expect(await (await fetched('/qr')).text()).toContain('<html');
      const live = emulator.waitFor('live', undefined, LIMIT_MS);
      await Promise.all([phone.scan(qr), live]);
      const route = {
        channelId: '*',
        agentEndpoint: gateways[1]?.seenFromContainers('http'),
        environment: 'lab',
        config: { adk: { appName: 'test_agent' } },
      };
      expect((await fetched('/api/routes', route)).status).toBe(201);
      await ana.say('hello', { to: phone });
      expect((await ana.nextReply(LIMIT_MS)).text).toBe('Echo: hello');

      for (const page of ['/', '/docs/troubleshooting.md', '/openapi.json']) {
        expect((await fetched(page)).status, page).toBe(200);
      }
      const backup = ['sh', '-c', 'echo a passphrase of a test >/tmp/passphrase; exec "$@"', 'sh'];
      const cli = ['node', 'dist/service/cli.js', 'backup', '/data/wa2ai.backup'];
      await run('docker', ['exec', container, ...backup, ...cli, '--passphrase-file', '/tmp/passphrase']);
      const bytes = await run('docker', ['exec', container, 'stat', '-c', '%s', '/data/wa2ai.backup']);
      expect(Number(bytes)).toBeGreaterThan(1_000);

      await run('docker', ['stop', '-t', '60', container]);
      expect(await run('docker', ['inspect', '-f', '{{.State.ExitCode}}', container])).toBe('0');
    } catch (error) {
      console.error(await run('docker', ['logs', '--tail', '50', container], { withStderr: true }));
      throw error;
    } finally {
      await run('docker', ['rm', '-f', '-v', container]);
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await Promise.all([agent.stop(), emulator.stop()]);
    }
  });

  it('passes the tests of each feature, as files copied out of it', async () => {
    const container = await run('docker', ['create', IMAGE]);
    try {
      await run('docker', ['cp', `${container}:/app`, folder]);
    } finally {
      await run('docker', ['rm', container]);
    }
    const files = Object.entries(FEATURES).flatMap(([project, names]) =>
      names.map((name) => `tests/${project}/${name}.test.ts`),
    );
    for (const file of files)
      expect(readdirSync(join(repositoryRoot, file, '..'))).toContain(file.split('/').at(-1));
    await run(
      process.execPath,
      [
        join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs'),
        ...[
          'run',
          '--maxWorkers',
          '2',
          ...Object.keys(FEATURES).flatMap((project) => ['--project', project]),
          ...files,
        ],
      ],
      { env: { WA2AI_TEST_SERVICE: join(folder, 'app', 'dist', 'service') }, limitMs: 1_200_000 },
    );
  });
});
