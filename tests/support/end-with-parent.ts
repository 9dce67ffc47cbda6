import { rmSync } from 'node:fs';

/**
 * Preload (`node --import`) for a program that was started with an IPC channel. When its parent process ends, also by
 * SIGKILL, the program receives SIGTERM. It then removes the folder named in REMOVE_WITH_PARENT, if any, as its last act.
 */
const folder = process.env.REMOVE_WITH_PARENT;

process.once('disconnect', () => {
  if (folder !== undefined) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.kill(process.pid, 'SIGTERM');
});
// the channel alone must not keep the program running
process.channel?.unref();
