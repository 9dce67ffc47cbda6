import { chmod, lstat, mkdir, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { dirname, relative, resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { Wa2aiError } from '../../core/errors.ts';

/** Longest path of a Unix socket, in bytes: sun_path without its closing zero. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Who connects to a Unix socket is known by its file mode: only the user of the service can. */
export class LocalConnections {
  readonly #sockets = new WeakSet<Socket>();

  /** Remembers every connection of the server. */
  follow(server: Server): void {
    server.on('connection', (socket) => this.#sockets.add(socket));
  }

  has(socket: Socket): boolean {
    return this.#sockets.has(socket);
  }
}

/**
 * Listens on a Unix socket that only the user of the service can open (mode 0600). Removes a file that a killed service
 * left; never a file that is no socket, and never the socket of a service that runs.
 * @throws {Wa2aiError} CANNOT_LISTEN: the sentence says why and what to change
 */
export async function listenOnFile(server: Server, file: string): Promise<void> {
  const path = shortPath(file);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await removeStale(path, file);
    await listen(server, path);
    // Not every file system obeys the mask.
    await chmod(path, 0o600);
  } catch (error) {
    if (error instanceof Wa2aiError) throw error;
    throw cannotListen(`${file} cannot be used (${String((error as NodeJS.ErrnoException).code)}).`, error);
  }
}

/** The shorter one of the absolute path and the path from the working folder. */
function shortPath(file: string): string {
  const absolute = resolve(file);
  const fromHere = relative(process.cwd(), absolute);
  const path = fromHere.length < absolute.length ? fromHere : absolute;
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_PATH_BYTES) return path;
  throw cannotListen(
    `the path of ${file} has ${bytes} bytes, and the system allows ${MAX_PATH_BYTES}. Set WA2AI_SOCKET to a shorter path, or to off.`,
  );
}

async function removeStale(path: string, file: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return;
  if (!found.isSocket()) {
    throw cannotListen(
      `${file} exists and is not a socket. Move it away, or set WA2AI_SOCKET to another path.`,
    );
  }
  if (await isAnswered(path)) {
    throw cannotListen(
      `another wa2ai listens on ${file}. Give each wa2ai on this machine its own WA2AI_DATA_DIR or WA2AI_SOCKET.`,
    );
  }
  await unlink(path);
}

/** Whether a process listens on the Unix socket. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The file exists from the call to listen on, so the mask must be set before it. Only the main thread can set it.
    const mask = isMainThread ? process.umask(0o177) : undefined;
    try {
      server.listen(path, resolve);
    } finally {
      if (mask !== undefined) process.umask(mask);
    }
  });
}

function cannotListen(reason: string, cause?: unknown): Wa2aiError {
  return new Wa2aiError(
    'CANNOT_LISTEN',
    'dead',
    { sentence: `The Unix socket for the command line: ${reason}` },
    {
      cause,
    },
  );
}
