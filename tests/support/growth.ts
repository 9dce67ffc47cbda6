const RUNS = 5;
const MIN_MS = 50;

/**
 * How many times as long `work` takes for four times the input: about 4 when it is linear, 16 when it is quadratic.
 * Compares the fastest of five runs each, so that it holds on a busy machine too. Less than 50 ms counts as 50 ms.
 */
export async function growth(work: (size: number) => unknown, size: number): Promise<number> {
  return (await fastestMs(() => work(4 * size))) / (await fastestMs(() => work(size)));
}

/** Growth that is surely not quadratic. */
export const MAX_LINEAR_GROWTH = 10;

async function fastestMs(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return Math.max(MIN_MS, Math.min(...times));
}
