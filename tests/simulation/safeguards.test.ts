import { describe, expect, it } from 'vitest';
import type { Broken } from './judge.ts';
import { SABOTAGES, type Sabotage } from './sim-node.ts';
import { simulate } from './simulate.ts';

/** Simulations within which the lack of a safeguard must show. */
const MOST_RUNS = 60;
/** What people suffer without it. */
const SYMPTOMS: Record<Sabotage, Broken> = {
  fence: 'unreadable',
  'message-ids': 'answered-twice',
  journal: 'lost',
};

describe('a simulation', () => {
  it('is the same for the same seed', async () => {
    const digests = [];
    for (const seed of [7, 7, 8]) digests.push((await simulate({ seed })).digest);
    expect(digests[1]).toBe(digests[0]);
    expect(digests[2]).not.toBe(digests[0]);
  });

  it.each(SABOTAGES)('finds what is wrong without the safeguard "%s"', async (sabotage) => {
    const found = new Set<Broken>();
    for (let seed = 1; seed <= MOST_RUNS && !found.has(SYMPTOMS[sabotage]); seed += 1) {
      const { complaints, story } = await simulate({ seed, sabotage, isTakeOver: true });
      for (const { broken } of complaints) found.add(broken);
      if (complaints.length > 0) expect(story()).toContain(`seed ${seed}: ${complaints[0]?.broken}`);
    }
    expect([...found]).toContain(SYMPTOMS[sabotage]);
  });
});
