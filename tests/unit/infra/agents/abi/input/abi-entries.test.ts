import { describe, expect, it } from 'vitest';
import { abiEntriesOf } from '../../../../../../router/src/infra/agents/abi/input/manifests.ts';

describe('abiEntriesOf', () => {
  it('is the array itself, or the one under `abi`', () => {
    const entries = ['f()'];
    expect(abiEntriesOf(entries)).toBe(entries);
    expect(abiEntriesOf({ name: 'x', abi: entries })).toBe(entries);
    expect(abiEntriesOf([])).toEqual([]);
  });

  it.each([
    [null],
    [undefined],
    ['[]'],
    [7],
    [{}],
    [{ abi: null }],
    [{ abi: { abi: [] } }],
    [{ functions: [] }],
  ])('is undefined for %j', (json) => {
    expect(abiEntriesOf(json)).toBeUndefined();
  });
});
