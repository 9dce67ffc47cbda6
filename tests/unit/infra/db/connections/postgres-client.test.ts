import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withConnection } from '../../../../../router/src/infra/db/connections/external-postgres.ts';
import {
  createPostgresPool,
  TimedClient,
} from '../../../../../router/src/infra/db/connections/postgres-client.ts';
import { makeTestCertificate } from '../../../../whatsapp-emulator/certificate.ts';

let folder: string;
let server: Server | undefined;
const sockets = new Set<Socket>();

/** A certificate that signs itself, for the host `name`. */
function certificate(name: string) {
  const path = join(folder, `${name}.crt`);
  const made = makeTestCertificate(name, name);
  writeFileSync(path, made.cert);
  return { path, ...made };
}

let own: ReturnType<typeof certificate>;
let foreign: ReturnType<typeof certificate>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-tls-'));
  own = certificate('localhost');
  foreign = certificate('db.example');
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise<unknown>((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** AuthenticationOk, ReadyForQuery; then an empty result for each statement. */
const WELCOME = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');
const EMPTY = Buffer.from('I\0\0\0\x04Z\0\0\0\x05I', 'latin1');

/** The start of PostgreSQL's protocol. @param tls absent: the server offers no TLS */
async function listen(tls?: { key: string; cert: string }) {
  const seen: string[] = [];
  const talk = (socket: Socket, kind: string) => {
    socket.once('data', () => {
      seen.push(kind);
      socket.write(WELCOME);
      socket.on('data', (bytes) => {
        if (bytes[0] === 0x51) socket.write(EMPTY);
      });
    });
  };
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      if (bytes.readInt32BE(4) !== 80_877_103) {
        seen.push('plain');
        socket.write(WELCOME);
        return;
      }
      socket.write(tls ? 'S' : 'N');
      if (!tls) return talk(socket, 'plain after N');
      const secure = new TLSSocket(socket, { isServer: true, ...tls });
      secure.on('error', () => undefined);
      talk(secure, 'tls');
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { seen, url: (query: string) => `postgresql://u:p%40ss@localhost:${port}/db${query}` };
}

async function connect(url: string): Promise<string> {
  const client = new TimedClient({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return 'connected';
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).message;
  } finally {
    for (const socket of sockets) socket.destroy();
    await client.end().catch(() => undefined);
  }
}

const OWN = () => `&sslrootcert=${encodeURIComponent(own.path)}`;
const FOREIGN = () => `&sslrootcert=${encodeURIComponent(foreign.path)}`;
const NONE = () => '';

describe('the TLS of a database URL', () => {
  it.each([
    ['prefer', NONE, 'connected'],
    ['allow', NONE, 'connected'],
    ['require', NONE, 'connected'],
    ['require', OWN, 'connected'],
    ['require', FOREIGN, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['verify-ca', OWN, 'connected'],
    ['verify-ca', FOREIGN, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['verify-ca', NONE, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['verify-full', OWN, 'connected'],
    ['verify-full', NONE, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['require', () => '&sslrootcert=system', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('sslmode=%s meets a certificate that signs itself', async (mode, signer, outcome) => {
    const { seen, url } = await listen(own);
    expect(await connect(url(`?sslmode=${mode}${signer()}`))).toBe(outcome);
    expect(seen).toEqual(outcome === 'connected' ? ['tls'] : []);
  });

  it.each([
    ['require', 'connected'],
    ['verify-ca', 'connected'],
    ['verify-full', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('sslmode=%s with sslrootcert meets a certificate for another host', async (mode, outcome) => {
    const { url } = await listen(foreign);
    expect(await connect(url(`?sslmode=${mode}${FOREIGN()}`))).toBe(outcome);
  });

  it.each([
    ['?sslmode=prefer', 'connected', ['plain after N']],
    ['?sslmode=allow', 'connected', ['plain after N']],
    ['?sslmode=require', 'The server does not support SSL connections', []],
    ['?sslmode=verify-full', 'The server does not support SSL connections', []],
    ['?sslmode=disable', 'connected', ['plain']],
    ['', 'connected', ['plain']],
  ])('"%s" meets a server without TLS', async (query, outcome, kinds) => {
    const { seen, url } = await listen();
    expect(await connect(url(query))).toBe(outcome);
    expect(seen).toEqual(kinds);
  });

  it('is the same for the pool and for the steps of the start', async () => {
    const { seen, url } = await listen(own);
    const address = url('?sslmode=require');
    const limits = { name: 'test', size: 1, connectTimeoutMs: 10_000, settings: 'SELECT 1' };
    const pool = createPostgresPool(address, limits);
    (await pool.connect()).release(true);
    await withConnection(address, 'test', async (client) => void (await client.query('SELECT 1')));
    await pool.end();
    expect(seen).toEqual(['tls', 'tls']);
  });
});
