import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { builtService } from './repository.ts';
import { seedChats } from './seed-chats.ts';

const CLI = join(builtService, 'cli.js');
const FILE_BYTES = 1_000_000;

/** What a command needed, as a process of the built program. */
interface MeasuredRun {
  seconds: number;
  /** The most memory that the process had, in MB. */
  peakMb: number;
}

export interface MeasuredBackup {
  backup: MeasuredRun;
  restore: MeasuredRun;
  /** Size of the file. */
  fileMb: number;
}

/**
 * Fills a migrated database with messages and files, backs it up and restores it into an empty database.
 * @param given.messages received ones; each has a reply
 * @param given.mediaMb of files of a megabyte that no compression makes smaller
 * @param given.folder an empty folder for the backup
 */
export async function measureBackup(given: {
  databaseUrl: string;
  targetUrl: string;
  messages: number;
  mediaMb: number;
  folder: string;
}): Promise<MeasuredBackup> {
  const { databaseUrl, targetUrl, folder } = given;
  await fill(databaseUrl, given.messages, given.mediaMb);
  const path = join(folder, 'wa2ai.backup');
  const env = { WA2AI_DATA_DIR: folder, WA2AI_BACKUP_PASSPHRASE: 'a passphrase of a measurement' };
  const backup = await measured(['backup', path], { ...env, DATABASE_URL: databaseUrl });
  const restore = await measured(['restore', path], { ...env, DATABASE_URL: targetUrl });
  return { backup, restore, fileMb: (await stat(path)).size / 1e6 };
}

async function fill(databaseUrl: string, messages: number, mediaMb: number): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    await client.query(`INSERT INTO account (id, state, updated_at) VALUES ('default', 'open', now())`);
    await seedChats(databaseUrl, { chats: Math.max(100, Math.round(messages / 20)), messages });
    const { rows } = await client.query<{ id: string }>('SELECT id::text FROM outbox ORDER BY id LIMIT $1', [
      mediaMb,
    ]);
    if (rows.length < mediaMb) throw new RangeError('each file needs a reply');
    for (const { id } of rows) {
      await client.query('INSERT INTO outbox_file (outbox_id, bytes) VALUES ($1, $2)', [
        id,
        randomBytes(FILE_BYTES),
      ]);
    }
  } finally {
    await client.end();
  }
}

/** Runs a command of the built program. @throws it failed, with what it wrote */
async function measured(args: readonly string[], env: Record<string, string>): Promise<MeasuredRun> {
  const beganMs = performance.now();
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stdout.resume();
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakMbOf(child.pid ?? -1));
  }, 20);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`wa2ai ${args[0]} ended with ${code}: ${errors}`);
  return { seconds: (performance.now() - beganMs) / 1000, peakMb };
}

/** The highest resident memory of a process so far, as Linux counts it; 0: it has ended. */
function peakMbOf(pid: number): number {
  try {
    const [, kb = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kb) / 1024;
  } catch {
    return 0;
  }
}
