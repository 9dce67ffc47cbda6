import { createApp } from './app.ts';
import { ConfigError, loadConfig } from './config.ts';
import { Wa2aiError } from './core/errors.ts';

/** Exit codes: 0 stopped when asked, 1 could not run, 2 a wrong setting. */
async function main(): Promise<void> {
  let app: Awaited<ReturnType<typeof createApp>>;
  try {
    app = await createApp(loadConfig(process.env));
  } catch (error) {
    console.error(sentenceOf(error));
    process.exit(error instanceof ConfigError ? 2 : 1);
  }
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) {
      // A second signal: the person does not want to wait for turns under way; they resume at the next start.
      process.exit(1);
    }
    isStopping = true;
    app.log.info({ signal }, 'stopping');
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        app.log.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  process.on('unhandledRejection', (error) => {
    app.log.error({ err: error }, 'a rejection nobody handled; the service goes on');
  });
}

/** What is on purpose is a sentence for the operator; anything else needs its stack to be found. */
function sentenceOf(error: unknown): string {
  if (error instanceof Wa2aiError) return `wa2ai: ${error.message}`;
  return `wa2ai could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

await main();
