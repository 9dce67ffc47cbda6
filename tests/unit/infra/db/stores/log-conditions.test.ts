import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import {
  allOf,
  containing,
  duringPeriod,
  fromPerson,
  newerThan,
  ofChat,
  ofChats,
  olderThan,
  together,
} from '../../../../../router/src/infra/db/stores/log-conditions.ts';

const id = sql`m.id`;

describe('conditions of the message log', () => {
  it('are absent for absent filters, so that each row matches', () => {
    expect([olderThan(id, undefined), newerThan(id, undefined), ofChat(id, undefined)]).toEqual([[], [], []]);
    expect([fromPerson(undefined), duringPeriod(id, {}), containing(id, undefined)]).toEqual([[], [], []]);
    expect(allOf([]).sql).toBe('true');
  });

  it('are none for values that no row can have', () => {
    expect(olderThan(id, 'x')).toBe('none');
    expect(ofChat(id, '*')).toBe('none');
    expect(ofChats(id, [])).toBe('none');
    expect(ofChats(id, ['*', 'not an address'])).toBe('none');
    expect(ofChat(id, 'not an address')).toBe('none');
    expect(fromPerson('120363041234567890@g.us')).toBe('none');
    expect(together([], 'none', [])).toBe('none');
  });

  it('pass values as parameters, never as SQL text', () => {
    const hostile = "x'; DROP TABLE message; --";
    const joined = allOf([...containing(sql`text`, hostile), ...duringPeriod(id, { since: new Date(0) })]);
    expect(joined.sql).not.toContain('DROP');
    expect(joined.values).toEqual([`%${hostile}%`, new Date(0)]);
  });

  it('escape the wildcards of LIKE', () => {
    expect(allOf(containing(sql`text`, '100%_\\')).values).toEqual(['%100\\%\\_\\\\%']);
  });
});
