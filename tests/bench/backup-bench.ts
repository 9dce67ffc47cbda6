import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { applyMigrations } from '../../router/src/infra/db/upkeep/migrations.ts';
import { measureBackup } from '../support/measured-backup.ts';
import { quietLog } from '../support/quiet-log.ts';
import { repositoryRoot } from '../support/repository.ts';
import { superuserUrl } from '../support/superuser.ts';
import { round } from './statistics.ts';

/** Time, memory and size of backups that grow: their memory must not. */
export async function benchBackup(
  sizes: ReadonlyArray<{ messages: number; mediaMb: number }>,
): Promise<void> {
  console.log('messages + replies  files MB  backup s  peak MB  restore s  peak MB  file MB');
  for (const { messages, mediaMb } of sizes) {
    const folder = await mkdtemp(join(tmpdir(), 'wa2ai-bench-backup-'));
    const server = await startEmbeddedPostgres({ dataDir: join(folder, 'server'), log: quietLog });
    try {
      await applyMigrations(server.url, join(repositoryRoot, 'prisma'));
      const client = new pg.Client(await superuserUrl(join(folder, 'server'), server.url));
      await client.connect();
      await client.query('CREATE DATABASE restored TEMPLATE template0 OWNER service');
      await client.end();
      const target = new URL(server.url);
      target.pathname = '/restored';
      const result = await measureBackup({
        databaseUrl: server.url,
        targetUrl: target.href,
        messages,
        mediaMb,
        folder,
      });
      const { backup, restore, fileMb } = result;
      const cells = [backup.seconds, backup.peakMb, restore.seconds, restore.peakMb, fileMb].map((value) =>
        String(round(value)).padStart(9),
      );
      console.log(`${String(messages * 2).padStart(18)}${String(mediaMb).padStart(10)}${cells.join('')}`);
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  }
}
