// Who ends `npm start` by its process id ends npm and the shell between; the program itself would never hear of it.

const LOOK_EVERY_MS = 1_000;

/** Ends this program as SIGTERM does once the shell that npm started it from is gone. Without npm nothing happens. */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS);
  timer.unref();
}
