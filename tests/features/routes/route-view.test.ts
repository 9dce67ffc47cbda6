import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../../router/src/features/routes/route-schemas.ts';

describe('mergePatch', () => {
  // Appendix A of RFC 7396.
  it.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('merges into %j the patch %j', (target, patch, merged) => {
    expect(mergePatch(target, patch)).toEqual(merged);
  });

  it('keeps __proto__ as a plain key', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"isAdmin":true}}')) as object;
    expect(Object.keys(merged)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });

  it('changes neither the target nor the patch', () => {
    const target = { a: { b: 1 } };
    const patch = { a: { b: null, c: 2 } };
    mergePatch(target, patch);
    expect([target, patch]).toEqual([{ a: { b: 1 } }, { a: { b: null, c: 2 } }]);
  });
});
