import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { relative, resolve } from 'node:path';
import { localSocketOf } from '../../config/socket-path.ts';
import { withoutTrailing } from '../../core/text.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';

/** Where the running service is, and the key to send. */
export interface Target {
  /** `http://127.0.0.1:3000`, or `http://localhost` for a Unix socket. */
  url: string;
  socketPath?: string;
  key?: string;
  /** For sentences: `data/wa2ai.sock` or the URL. */
  name: string;
}

/** Options that every command has. */
export interface TargetOptions {
  url?: string;
  keyFile?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Finds the service: `--url`, else WA2AI_URL, else the Unix socket of the service in this folder, else its port on this
 * machine. A key comes from a file or the environment, never from an argument, which other users of the machine can read.
 * @throws {CliUsageError} the URL or the file is wrong
 * @throws {CliError} another user owns the Unix socket
 */
export async function targetOf({ url, keyFile }: TargetOptions, env: Env): Promise<Target> {
  const given = url ?? (env.WA2AI_URL || undefined);
  if (given !== undefined) {
    const key = keyOf(keyFile, env);
    return { url: checkedUrl(given), name: given, ...(key !== undefined && { key }) };
  }
  const socket = localSocketOf({
    socket: env.WA2AI_SOCKET || undefined,
    dataDir: env.WA2AI_DATA_DIR || './data',
  });
  if (socket && (await isAnswered(shorter(socket.path), socket.path))) {
    // The Unix socket gives all rights; only a key that was asked for takes some away.
    const key = keyFile === undefined ? undefined : keyOf(keyFile, env);
    return {
      url: 'http://localhost',
      socketPath: shorter(socket.path),
      name: socket.path,
      ...(key !== undefined && { key }),
    };
  }
  const local = `http://127.0.0.1:${env.WA2AI_PORT || 3000}`;
  const key = keyOf(keyFile, env);
  return { url: local, name: local, ...(key !== undefined && { key }) };
}

function checkedUrl(url: string): string {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return withoutTrailing(url, '/');
  throw new CliUsageError('the URL of wa2ai must begin with http:// or https://');
}

/** The key of `--key-file`, else that of the environment. @throws {CliUsageError} the file cannot be read */
export function keyOf(keyFile: string | undefined, env: Env): string | undefined {
  const [file, source] =
    keyFile === undefined ? [env.WA2AI_API_KEY_FILE, 'WA2AI_API_KEY_FILE'] : [keyFile, '--key-file'];
  if (!file) return env.WA2AI_API_KEY || undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new CliUsageError(`the file of ${source} cannot be read: ${file}`);
  }
}

/** A Unix socket is opened by the shorter path, because the system limits its length. */
function shorter(path: string): string {
  const fromHere = relative(process.cwd(), path);
  const absolute = resolve(path);
  return fromHere.length < absolute.length ? fromHere : absolute;
}

function isAnswered(path: string, name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EACCES') return resolve(false);
      const sentence = `The Unix socket ${name} belongs to another user. Run the command as the user of the service, or use --url with a key.`;
      reject(new CliError(sentence, EXIT.refused));
    });
  });
}
