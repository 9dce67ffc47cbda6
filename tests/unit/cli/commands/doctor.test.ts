import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Finding } from '../../../../router/src/features/doctor/check-network.ts';
import { runWa2ai } from '../../../support/cli.ts';
import { unusedPort } from '../../../support/unused-port.ts';

const NOW_MS = Date.UTC(2026, 10, 23, 12);

let folder: string;
let env: Record<string, string>;
const servers: Server[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-doctor-'));
  const whatsApp = await listening((_, response) => {
    response.writeHead(404, { date: new Date(NOW_MS).toUTCString() }).end();
  });
  env = {
    WA2AI_DATA_DIR: join(folder, 'data'),
    WA2AI_PORT: String(await unusedPort()),
    WA2AI_WHATSAPP_WS_URL: `ws://127.0.0.1:${whatsApp}/ws/chat`,
  };
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true, force: true });
});

async function listening(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The exit code, and what is wrong. */
async function doctor(more: Record<string, string> = {}) {
  const { code, output } = await runWa2ai(['doctor', '--json'], { env: { ...env, ...more }, nowMs: NOW_MS });
  const { findings } = JSON.parse(output) as { findings: Finding[] };
  return { code, wrong: findings.filter(({ level }) => level === 'error') };
}

describe('wa2ai doctor', () => {
  it('ends with 0 on a machine that wa2ai can start on', async () => {
    expect(await doctor()).toEqual({ code: 0, wrong: [] });
  });

  it.each([
    ['nothing that wa2ai says', '{}'],
    ['a page', '<html></html>'],
  ])('finds a stranger at its port that answers with %s', async (_what, body) => {
    const port = await listening((_, response) => response.end(body));
    const { code, wrong } = await doctor({ WA2AI_PORT: String(port) });
    expect(code).toBe(1);
    expect(wrong).toMatchObject([
      { check: 'port', message: `Another program listens on 127.0.0.1:${port}.`, fix: /WA2AI_PORT/ },
    ]);
  });

  it('finds a data folder that it cannot write', async () => {
    // root may write every folder, but none in a file.
    const isRoot = process.getuid?.() === 0;
    const parent = join(folder, 'locked');
    await writeFile(parent, 'a file');
    if (!isRoot) await chmod(folder, 0o500);
    const { code, wrong } = await doctor({ WA2AI_DATA_DIR: join(isRoot ? parent : folder, 'data') });
    expect(code).toBe(1);
    expect(wrong).toContainEqual({
      check: 'files',
      level: 'error',
      message: expect.stringMatching(/^wa2ai cannot write .*refuses this user \((ENOTDIR|EACCES)\)\.$/),
      fix: expect.stringContaining('WA2AI_DATA_DIR'),
    });
  });

  it('finds a database that does not answer', async () => {
    const { code, wrong } = await doctor({ DATABASE_URL: 'postgresql://wa2ai:secret@127.0.0.1:9/wa2ai' });
    expect(code).toBe(1);
    expect(wrong).toMatchObject([
      { check: 'database', message: /127\.0\.0\.1:9/, fix: /^Check DATABASE_URL/ },
    ]);
    expect(JSON.stringify(wrong)).not.toContain('secret');
  });

  it('finds a WhatsApp that does not answer', async () => {
    const { code, wrong } = await doctor({ WA2AI_WHATSAPP_WS_URL: 'ws://127.0.0.1:9/ws/chat' });
    expect(code).toBe(1);
    expect(wrong).toMatchObject([{ check: 'whatsapp', fix: /port 443/ }]);
  });

  it('finds a wrong setting, and shows what is wrong last', async () => {
    const { code, output } = await runWa2ai(['doctor'], { env: { ...env, WA2AI_EGRESS: 'all' } });
    expect(code).toBe(1);
    expect(output.trimEnd().split('\n').at(-2)).toMatch(/^error +settings +WA2AI_EGRESS/);
  });
});
