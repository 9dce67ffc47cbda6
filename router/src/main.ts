import { existsSync } from 'node:fs';
import { type App, createApp } from './app/app.ts';
import { ConfigError, loadConfig } from './config/config.ts';
import { Wa2aiError } from './core/errors.ts';

/** Exit codes: 0 stopped when asked, 1 could not run or go on, 2 a wrong setting. */
async function main(): Promise<void> {
  const stop = stopOnSignals();
  if (existsSync('.env')) process.loadEnvFile('.env');
  try {
    // Until there is a logger, warnings are kept from the terminal: they are not the operator's.
    process.removeAllListeners('warning');
    const app = await createApp(loadConfig(process.env));
    reportWarnings(app);
    stop.ready(app);
    stopWhenOutdated(app);
  } catch (error) {
    console.error(sentenceOf(error));
    process.exit(error instanceof ConfigError ? 2 : 1);
  }
}

/**
 * SIGINT, SIGTERM and SIGHUP (the terminal was closed) stop the service cleanly, during its start as soon as that has
 * ended; a second one ends at once.
 */
function stopOnSignals(): { ready(app: App): void } {
  let app: App | undefined;
  let isAsked = false;
  const stop = (running: App) => {
    running.log.info({}, 'stopping');
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        running.log.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  const onSignal = () => {
    // Turns under way resume at the next start, so an impatient end loses nothing.
    if (isAsked) {
      app?.abandon();
      process.exit(1);
    }
    isAsked = true;
    if (app) stop(app);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', () => {
    // A closed terminal takes no more lines, and their errors must not end the process before it has stopped.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
    onSignal();
  });
  return {
    ready: (started) => {
      app = started;
      if (isAsked) stop(started);
    },
  };
}

/** Beside a newer version this one hands over what it holds and ends; its next start says the same sentence. */
function stopWhenOutdated(app: App): void {
  void app.untilOutdated.then(async (sentence) => {
    app.log.fatal({ reason: sentence }, 'stopping: a newer wa2ai has taken over the database');
    await app.stop().catch((error: unknown) => app.log.error({ err: error }, 'stop failed'));
    process.exit(1);
  });
}

/** Node's warnings and lost rejections go where the operator looks; deprecations inside libraries are no news to them. */
function reportWarnings({ log }: App): void {
  process.on('warning', (warning) => {
    const level = warning.name === 'DeprecationWarning' ? 'debug' : 'warn';
    log[level]({ err: warning }, 'Node warns');
  });
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, 'a rejection nobody handled; the service goes on');
  });
}

/** What is on purpose is a sentence for the operator; anything else needs its stack to be found. */
function sentenceOf(error: unknown): string {
  if (error instanceof Wa2aiError) return `wa2ai: ${error.message}`;
  return `wa2ai could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

await main();
