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

/** Children of which so many are known at least before those that are gone are looked for. */
const MIN_SWEEP = 1_000;

/** Changes the level of a logger and of all its children while they are used. */
export class LogLevels {
  #children: Array<WeakRef<PinoLogger>> = [];
  #sweepAt = MIN_SWEEP;
  #level: string | undefined;

  readonly add = (log: PinoLogger): void => {
    this.#children.push(new WeakRef(log));
    if (this.#children.length < this.#sweepAt) return;
    this.#children = this.#children.filter((each) => each.deref());
    this.#sweepAt = Math.max(MIN_SWEEP, this.#children.length * 2);
  };

  set(level: string): void {
    if (level === this.#level) return;
    this.#level = level;
    for (const each of this.#children) {
      const log = each.deref();
      if (log) log.level = level;
    }
  }
}

/**
 * Creates the service's logger: one JSON object per line (`json`, with the level's name), or one readable line per event for a terminal
 * (`pretty`). Secret fields are redacted, also one level deep. Callers log message texts at trace only.
 * Lines about an unavailable database are throttled, because many loops repeat them many times a second.
 */
export function createLogger(options: {
  level: string;
  format: 'pretty' | 'json';
  /** Default: standard output. */
  output?: LogOutput;
  /** Gets each line as JSON, redacted, whatever the format. */
  ring?: Pick<LogRing, 'add'> | undefined;
  /** Gets the logger and each child. */
  levels?: Pick<LogLevels, 'add'>;
}): PinoLogger {
  const output = options.output ?? standardOutput();
  const throttle = new LogThrottle();
  const base: LoggerOptions = {
    level: options.level,
    hooks: {
      logMethod(args, method) {
        if (shouldLog(throttle, args)) method.apply(this, args);
      },
    },
    formatters: { level: (level) => ({ level }), log: redacted },
    serializers: { err: (error) => redacted({ err: stdSerializers.err(error) }).err },
    timestamp: stdTimeFunctions.isoTime,
    base: undefined,
  };
  const shown = options.format === 'json' ? output : prettyOutput(output);
  const { ring, levels } = options;
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
  const logger = pino({ ...base, ...(levels && { onChild: levels.add }) }, destination);
  levels?.add(logger);
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
  for (const [name, value] of Object.entries(fields)) {
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
