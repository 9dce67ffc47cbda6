/**
 * How many random values a property is tested with, as fast-check takes it: `usual` in every test run, and
 * `WA2AI_PROPERTY_RUNS` times as many when that variable is set, from 1.
 * @throws {Error} it is set to something else than a whole number
 */
export function runs(usual: number): { numRuns: number } {
  const times = Number(process.env.WA2AI_PROPERTY_RUNS ?? 1);
  if (!Number.isInteger(times) || times < 1)
    throw new Error('WA2AI_PROPERTY_RUNS must be a whole number, from 1');
  return { numRuns: usual * times };
}
