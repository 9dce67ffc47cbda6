import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import {
  type LoggerOptions,
  levels,
  type Logger as PinoLogger,
  pino,
  stdSerializers,
  stdTimeFunctions,
} from 'pino';
import { Wa2aiError } from '../../core/errors.ts';
import { LogThrottle } from '../../core/logger.ts';
import { formatForTerminal, LogOutput } from './log-output.ts';
import type { LogRing } from './log-ring.ts';

/** Fields that may contain a secret. Their values never reach a log line. */
const SECRET_FIELDS = new Set([
  'apiKey',
  'password',
  'authorization',
  'headers',
  'qr',
  'pairingCode',
  'passkey',
  'creds',
  'databaseUrl',
]);

/** Lines of this level and above do not wait for others: they may be the last ones. */
const AT_ONCE = levels.values.warn ?? 0;

/** The least severe level that a logger and its children log; it may change while they are used. */
export class LogLevel {
  #minimum: number;

  constructor(name: string) {
    this.#minimum = severityOf(name);
  }

  set(name: string): void {
    this.#minimum = severityOf(name);
  }

  isLogged(level: number): boolean {
    return level >= this.#minimum;
  }
}

/** `silent` is above all levels. */
function severityOf(name: string): number {
  return levels.values[name] ?? Number.POSITIVE_INFINITY;
}

/**
 * Creates the service's logger: one JSON object per line (`json`, with the level's name), or one readable line per event for a terminal
 * (`pretty`). Secret fields are redacted, also one level deep. Callers log message texts at trace only.
 * Lines about an unavailable database are throttled, because many loops repeat them many times a second.
 */
export function createLogger(options: {
  level: LogLevel | string;
  format: 'pretty' | 'json';
  /** Default: standard output. */
  output?: LogOutput;
  /** Gets each line as JSON, redacted, whatever the format. */
  ring?: Pick<LogRing, 'add'> | undefined;
}): PinoLogger {
  const output = options.output ?? standardOutput();
  const throttle = new LogThrottle();
  const minimum = typeof options.level === 'string' ? new LogLevel(options.level) : options.level;
  const base: LoggerOptions = {
    // A child keeps the level of its beginning, so pino logs all and the hook decides.
    level: 'trace',
    hooks: {
      logMethod(args, method, level) {
        if (minimum.isLogged(level) && shouldLog(throttle, args)) method.apply(this, args);
      },
    },
    formatters: { level: (level) => ({ level }), log: redacted },
    serializers: { err: (error) => redacted({ err: stdSerializers.err(error) }).err },
    timestamp: stdTimeFunctions.isoTime,
    base: undefined,
  };
  const shown = options.format === 'json' ? output : prettyOutput(output);
  const { ring } = options;
  const destination = {
    // pino sets `lastLevel` for it
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      ring?.add(line);
      shown.write(line);
      if (this.lastLevel >= AT_ONCE) output.flush();
    },
    flush: (done: () => void) => {
      output.flush();
      done();
    },
  };
  const logger = pino(base, destination);
  // Children inherit it; pino formats their fields by no formatter.
  const { child } = logger;
  logger.child = function (this: PinoLogger, fields, options) {
    return child.call(this, redacted(fields), options) as ReturnType<typeof child>;
  } as typeof child;
  return logger;
}

/**
 * The fields with their secrets replaced, also one level deep. pino's own redaction clones every line, which was 8 % of what a
 * message allocates; this one copies only what has a secret.
 */
function redacted(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let shown = fields;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const isNested = depth > 0 && typeof value === 'object' && value !== null;
    let safe = value;
    if (SECRET_FIELDS.has(name) && value !== undefined) safe = '[redacted]';
    // pino makes a new object of the error in `err`; see the serializer.
    else if (isNested && !(name === 'err' && value instanceof Error)) {
      safe = redacted(value as Record<string, unknown>, depth - 1);
    }
    if (safe === value) continue;
    if (shown === fields) shown = { ...fields };
    shown[name] = safe;
  }
  return shown;
}

/** The last lines are written when the process ends. */
function standardOutput(): LogOutput {
  const output = new LogOutput();
  process.once('exit', () => output.flush());
  return output;
}

function prettyOutput(output: LogOutput) {
  // A service does not need it.
  const { build: prettyStream }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  return prettyStream({
    colorize: process.stdout.isTTY,
    translateTime: 'HH:MM:ss.l',
    hideObject: true,
    messageFormat: (line) => formatForTerminal(line),
    sync: true,
    destination: new Writable({
      decodeStrings: false,
      write: (line: string, _encoding, done) => {
        output.write(line);
        done();
      },
    }),
  });
}

function shouldLog(throttle: LogThrottle, [fields, message]: unknown[]): boolean {
  const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined;
  const isAboutDatabase = error instanceof Wa2aiError && /^(STORAGE|DATABASE)_/.test(error.code);
  return !isAboutDatabase || throttle.count(`${String(message)} ${error.code}`) !== undefined;
}
