import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withConnection } from '../../../../../router/src/infra/db/connections/external-postgres.ts';
import { DatabaseError } from '../../../../../router/src/infra/db/stores/storage-errors.ts';

/** "Authentication is not needed" and "ready for a statement" of PostgreSQL's protocol. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** A server that accepts every connection and answers no statement. */
let server: Server;
let url: string;
let sockets: Socket[];
let received: string;

beforeEach(async () => {
  sockets = [];
  received = '';
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(WELCOME));
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `postgresql://ana:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}/shop`;
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function failureOf(work: () => Promise<unknown>): Promise<unknown> {
  return withConnection(url, 'step', work).then(
    () => undefined,
    (error: unknown) => error,
  );
}

const postgresError = (code: string, message: string) =>
  Object.assign(new Error(message), { code, severity: 'ERROR' });

describe('withConnection', () => {
  it('returns what the step returns, names the step to the server, and ends the connection', async () => {
    expect(await withConnection(url, 'keys', async () => 7)).toBe(7);
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
    expect(received).toContain(`wa2ai ${process.pid} keys`);
    expect(sockets).toHaveLength(1);
  });

  it('ends the connection when the step fails', async () => {
    await failureOf(async () => {
      throw new Error('no');
    });
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
    expect(sockets).toHaveLength(1);
  });

  it('says where it cannot connect, without the password', async () => {
    await new Promise((resolve) => server.close(resolve));
    const error = await failureOf(async () => undefined);
    expect(error).toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringMatching(/^Cannot connect to PostgreSQL at 127\.0\.0\.1:\d+: .*ECONNREFUSED/),
    });
    expect((error as Error).message).not.toContain('hunter2');
  });

  it.each([
    ['42501', 'DATABASE_RIGHTS', /^The database user lacks a privilege: denied\. Grant it CREATE/],
    ['53100', 'DATABASE_MIGRATION', /^The disk of the database is full\. Free space on it\./],
    ['42601', 'DATABASE_MIGRATION', /^The database could not be prepared: denied\.$/],
  ])('explains a statement that failed with %s', async (sqlState, code, message) => {
    const cause = postgresError(sqlState, 'denied');
    const error = await failureOf(() => Promise.reject(cause));
    expect(error).toMatchObject({
      code,
      disposition: 'dead',
      message: expect.stringMatching(message),
      cause,
    });
  });

  it('throws the DatabaseError of a step unchanged', async () => {
    const ours = new DatabaseError('DATABASE_KEY', 'The key file is missing.');
    expect(await failureOf(() => Promise.reject(ours))).toBe(ours);
  });

  it('reports a connection that breaks during a statement', async () => {
    const error = await withConnection(url, 'step', async (client) => {
      const asked = client.query('SELECT 1');
      sockets[0]?.destroy();
      await asked;
    }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(
        /^The database could not be prepared: .*(ECONNRESET|Connection terminated)/,
      ),
    });
  });
});
