import { describe, expect, it } from 'vitest';
import { untilReached } from '../../support/until.ts';

describe('untilReached', () => {
  it('resolves when the number has reached the target', async () => {
    let looks = 0;
    await untilReached('looks', () => ++looks, 4);
    expect(looks).toBeGreaterThanOrEqual(4);
  });

  it('rejects when the number does not grow, and says how far it came', async () => {
    await expect(untilReached('replies', () => 2, 4, 0)).rejects.toThrow('more than 2 of 4 replies');
  });
});
