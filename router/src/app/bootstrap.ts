import { randomUUID } from 'node:crypto';
import type { Logger as PinoLogger } from 'pino';
import { type Config, unknownVariables } from '../config/config.ts';
import { type Database, openDatabase } from '../infra/db/database.ts';
import type { SecretColumn } from '../infra/db/encryption/secret-cipher.ts';
import { LogRing } from '../infra/logging/log-ring.ts';
import { createLogger, LogLevel } from '../infra/logging/logger.ts';
import { Watchdog } from '../infra/watchdog/watchdog.ts';

/** What starts while the rest of the service is loaded. */
export interface Bootstrap {
  readonly log: PinoLogger;
  readonly logRing: LogRing;
  readonly logLevel: LogLevel;
  /** Ends the process when it hangs, from here on. */
  readonly watchdog: Watchdog;
  /** Rejects with a {DatabaseError}. */
  readonly database: Promise<Database>;
  /** Resolves when the database server starts by itself, so that this process may be busy; also when it cannot start. */
  readonly untilServerStarts: Promise<void>;
  /** Stops the database, for a start that fails. Idempotent, never rejects. */
  stop(): Promise<void>;
}

/** Loads the features, which a start needs later otherwise. */
async function secretColumns(): Promise<readonly SecretColumn[]> {
  return (await import('../features.ts')).secretColumns();
}

/** Creates the log and opens the database of the settings. */
export function bootstrap(config: Config): Bootstrap {
  const logRing = new LogRing(randomUUID().replaceAll('-', ''));
  const logLevel = new LogLevel(config.logLevel);
  const log = createLogger({ level: logLevel, format: config.logFormat, ring: logRing });
  for (const name of unknownVariables(process.env))
    log.warn({ variable: name }, 'unknown variable is ignored');
  for (const { from, to } of config.renamed)
    log.warn(
      { variable: from, name: to },
      'variable has an earlier name, which the next version does not know',
    );
  const watchdog = new Watchdog({ format: config.logFormat });
  let onServerStart: () => void = () => undefined;
  const serverStart = new Promise<void>((resolve) => {
    onServerStart = resolve;
  });
  const database = openDatabase(config, log, secretColumns, onServerStart);
  const opened = database.then(
    () => undefined,
    () => undefined,
  );
  return {
    log,
    logRing,
    logLevel,
    watchdog,
    database,
    untilServerStarts: Promise.race([serverStart, opened]),
    stop: () =>
      database.then(
        (open) => open.stop(),
        () => undefined,
      ),
  };
}
