import { describe, expect, it } from 'vitest';
import { pageOf, pageOfAll } from '../../../../router/src/infra/operations/fields.ts';

const same = (entry: string) => entry;

describe('pageOf', () => {
  it('has a cursor to its last entry when there is one more', () => {
    expect(pageOf(['a', 'b', 'c'], 2, same)).toEqual({
      success: true,
      data: ['a', 'b'],
      count: 2,
      next: 'b',
    });
  });

  it('has no cursor on the last page', () => {
    expect(pageOf(['a', 'b'], 2, same)).toEqual({ success: true, data: ['a', 'b'], count: 2 });
    expect(pageOf([], 2, same)).toEqual({ success: true, data: [], count: 0 });
  });
});

describe('pageOfAll', () => {
  it('returns each entry once over its pages', () => {
    const all = ['a', 'b', 'c', 'd', 'e'];
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOfAll(all, { cursor, limit: 2 }, same);
      seen.push(...page.data);
      cursor = 'next' in page ? page.next : undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(all);
  });

  it('returns all entries without a limit, and none after an unknown cursor', () => {
    expect(pageOfAll(['a', 'b'], {}, same).data).toEqual(['a', 'b']);
    expect(pageOfAll(['a', 'b'], { cursor: 'gone' }, same)).toEqual({ success: true, data: [], count: 0 });
  });
});
