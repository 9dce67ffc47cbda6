import { startEmbeddedPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { errorCode, errorMessage } from '../../router/src/infra/db/stores/storage-errors.ts';
import { quietLog } from './quiet-log.ts';

/**
 * A process that runs the embedded database in the folder of its first argument, for tests that kill it.
 * Sends one `ChildReport` over IPC when it is ready or has given up, and stops cleanly on any message.
 */
export type ChildReport =
  | { state: 'ready'; url: string }
  | { state: 'failed'; code: string | undefined; message: string };

try {
  const postgres = await startEmbeddedPostgres({
    dataDir: process.argv[2] ?? '',
    log: quietLog,
    settings: { fsync: 'off' },
  });
  process.once('message', async () => {
    await postgres.stop();
    process.disconnect?.();
  });
  report({ state: 'ready', url: postgres.url });
} catch (error) {
  report({ state: 'failed', code: errorCode(error), message: errorMessage(error) });
  process.disconnect?.();
}

function report(message: ChildReport): void {
  process.send?.(message);
}
