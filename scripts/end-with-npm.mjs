// A signal to the process of `npm start` ends npm and the shell between; the program itself does not receive it.

const LOOK_EVERY_MS = 1_000;

/** Sends SIGTERM to this program when the shell that npm started it from has ended. Without npm it does nothing. */
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
