import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { sharesSessions } from '../../../../../router/src/infra/db/connections/external-postgres.ts';

type Session = number | Error;

/** A connection whose statements run in the session that `sessionOf` returns; `begin` answers BEGIN. */
function connection(sessionOf: () => Session, begin: () => Session = sessionOf) {
  const statements: string[] = [];
  const query = async (statement: string) => {
    statements.push(statement);
    const session = statement === 'BEGIN' ? begin() : sessionOf();
    if (session instanceof Error) throw session;
    return { rows: [{ pid: session }] };
  };
  return { client: { query } as unknown as pg.Client, statements };
}

const failure = (code: string) => Object.assign(new Error('refused'), { code });

describe('sharesSessions', () => {
  it('is false for two connections that keep their own session, and leaves no transaction open', async () => {
    const [first, second] = [connection(() => 1), connection(() => 2)];
    expect(await sharesSessions(first.client, second.client)).toBe(false);
    const count = (statement: string) => second.statements.filter((each) => each === statement).length;
    expect(count('BEGIN')).toBeGreaterThan(1);
    expect(count('ROLLBACK')).toBe(count('BEGIN'));
    expect(first.statements).not.toContain('BEGIN');
  });

  it('is true when the second connection gets the session that the first had', async () => {
    const [first, second] = [connection(() => 1), connection(() => 1)];
    expect(await sharesSessions(first.client, second.client)).toBe(true);
  });

  it('is true when the first connection gets another session while the second has one', async () => {
    let calls = 0;
    const first = connection(() => (calls++ === 0 ? 1 : 3));
    expect(await sharesSessions(first.client, connection(() => 2).client)).toBe(true);
  });

  it('is true when another user of the pooler got the session in between, but not the next time', async () => {
    let attempt = 0;
    const second = connection(
      () => (attempt === 3 ? 1 : 2),
      () => {
        attempt += 1;
        return 2;
      },
    );
    expect(await sharesSessions(connection(() => 1).client, second.client)).toBe(true);
    expect(attempt).toBe(3);
  });

  it('is true when BEGIN is refused with a protocol violation, as by a pooler of statements', async () => {
    const second = connection(
      () => 2,
      () => failure('08P01'),
    );
    expect(await sharesSessions(connection(() => 1).client, second.client)).toBe(true);
  });

  it('throws every other error of a connection', async () => {
    const broken = failure('57P01');
    const second = connection(
      () => 2,
      () => broken,
    );
    await expect(sharesSessions(connection(() => 1).client, second.client)).rejects.toBe(broken);
    const first = connection(() => broken);
    await expect(sharesSessions(first.client, connection(() => 2).client)).rejects.toBe(broken);
  });
});
