import { existsSync } from 'node:fs';
import type { App } from './app/app.ts';
import type { Bootstrap } from './app/bootstrap.ts';
import { setHeapFlags } from './config/heap-flags.ts';
import { Wa2aiError } from './core/errors.ts';

/** Exit codes: 0 stopped by a signal, 1 cannot start or continue, 2 a setting is wrong. */
async function main(): Promise<void> {
  setHeapFlags();
  const stop = stopOnSignals();
  const ofProcess = new Set(Object.keys(process.env));
  // A variable of the process has priority.
  if (existsSync('.env')) process.loadEnvFile('.env');
  const fromFile = new Set(Object.keys(process.env).filter((name) => !ofProcess.has(name)));
  let bootstrapped: Bootstrap | undefined;
  try {
    // Node's warnings are not for the operator; once there is a logger they are logged.
    process.removeAllListeners('warning');
    const { loadConfig } = await import('./config/config.ts');
    const config = loadConfig(process.env, undefined, fromFile);
    const { bootstrap } = await import('./app/bootstrap.ts');
    bootstrapped = bootstrap(config);
    // Loading the rest takes as long as the start of a database server.
    await bootstrapped.untilServerStarts;
    const { useFastAgreement, useFastVerification } = await import(
      './providers/baileys/signal/fast-crypto.ts'
    );
    useFastVerification(config.whatsappWsUrl === undefined);
    const { checkBaileys } = await import('./providers/baileys/connection/check-surface.ts');
    checkBaileys();
    useFastAgreement();
    // Not imported before the check: a missing export of Baileys would be a SyntaxError without a sentence.
    const { createApp } = await import('./app/app.ts');
    const app = await createApp(config, bootstrapped);
    reportWarnings(app);
    stop.ready(app);
    stopWhenOutdated(app);
  } catch (error) {
    await bootstrapped?.stop();
    bootstrapped?.log.flush();
    console.error(sentenceOf(error));
    const isConfigError = error instanceof Wa2aiError && error.code === 'CONFIG';
    process.exit(isConfigError ? 2 : 1);
  }
}

/**
 * SIGINT, SIGTERM and SIGHUP (the terminal was closed) stop the service; during the start, after the start has ended. A
 * second signal ends the process immediately.
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
    // Running turns resume at the next start: nothing is lost.
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
    // Writes to a closed terminal fail; their errors must not end the process before it has stopped.
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

/** A newer version has migrated the database: releases the accounts and exits. The next start fails with this sentence. */
function stopWhenOutdated(app: App): void {
  void app.untilOutdated.then(async (sentence) => {
    app.log.fatal({ reason: sentence }, 'stopping: a newer wa2ai has taken over the database');
    await app.stop().catch((error: unknown) => app.log.error({ err: error }, 'stop failed'));
    process.exit(1);
  });
}

/** Logs Node's warnings and unhandled rejections; deprecation warnings of libraries at debug only. */
function reportWarnings({ log }: App): void {
  process.on('warning', (warning) => {
    const level = warning.name === 'DeprecationWarning' ? 'debug' : 'warn';
    log[level]({ err: warning }, 'node warning');
  });
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, 'unhandled rejection');
  });
}

/** The sentence of a wa2ai error; the stack of any other error, which is a defect. */
function sentenceOf(error: unknown): string {
  if (error instanceof Wa2aiError) return `wa2ai: ${error.message}`;
  return `wa2ai could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

await main();
