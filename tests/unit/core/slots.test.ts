import { describe, expect, it } from 'vitest';
import { Slots } from '../../../router/src/core/keyed-queue.ts';

describe('Slots', () => {
  it('are free again after failed work', async () => {
    const slots = new Slots(1);
    await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await slots.run(async () => 'yes')).toBe('yes');
  });
});
