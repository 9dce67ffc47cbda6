/** What `work` comes to, or after `limitMs` what `late` gives or throws; `work` goes on and its end is nobody's matter then. */
export async function inTime<T>(limitMs: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs).unref();
  }).then(late);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
