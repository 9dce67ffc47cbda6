import { join } from 'node:path';

/** Value of WA2AI_SOCKET that switches the Unix socket off. */
const OFF = 'off';

/** Where the service listens for its owner besides the port. */
interface LocalSocketSetting {
  path: string;
  /** An operator chose the path: the service does not start without it. */
  isChosen: boolean;
}

/**
 * The Unix socket of a service: that of WA2AI_SOCKET, else `wa2ai.sock` in the data folder. The command line finds the
 * service by the same rule.
 * @returns undefined: switched off, or Windows, which has no Unix sockets with owners
 */
export function localSocketOf(
  { socket, dataDir }: { socket: string | undefined; dataDir: string },
  platform: NodeJS.Platform = process.platform,
): LocalSocketSetting | undefined {
  if (socket === OFF || platform === 'win32') return undefined;
  if (socket !== undefined) return { path: socket, isChosen: true };
  return { path: join(dataDir, 'wa2ai.sock'), isChosen: false };
}
