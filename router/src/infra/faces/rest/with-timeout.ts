/**
 * The result of `work`, or after `limitMs` what `onTimeout` returns or throws. `work` is not cancelled; its later result
 * is ignored.
 */
export async function withTimeout<T>(limitMs: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs).unref();
  }).then(onTimeout);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
