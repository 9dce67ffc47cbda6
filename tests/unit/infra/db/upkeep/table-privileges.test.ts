import { describe, expect, it } from 'vitest';
import {
  missingRightSentence,
  missingRightsSql,
} from '../../../../../router/src/infra/db/upkeep/table-privileges.ts';

describe('missingRightSentence', () => {
  it('is undefined when nothing is missing', () => {
    expect(missingRightSentence([])).toBeUndefined();
  });

  it('names a privilege on a table with the statement that grants it', () => {
    expect(missingRightSentence([{ name: 'message', right: 'INSERT' }])).toBe(
      'The database user lacks the privilege INSERT on "message". GRANT INSERT ON message TO that user.',
    );
  });

  it('names a sequence in the form that GRANT needs for it', () => {
    expect(missingRightSentence([{ name: 'public.message_id_seq', right: 'USAGE' }])).toMatch(
      /GRANT USAGE ON SEQUENCE public\.message_id_seq TO that user\.$/,
    );
  });

  it('asks for a backup when the table itself is missing', () => {
    expect(missingRightSentence([{ name: 'journal', right: null }])).toBe(
      'The table "journal" is not in the database although its migration is: restore the database from a backup.',
    );
  });

  it('counts the others', () => {
    const missing = ['DELETE', 'INSERT', 'UPDATE'].map((right) => ({ name: 'outbox', right }));
    expect(missingRightSentence(missing)).toMatch(/DELETE on "outbox" \(2 more are missing\)\. GRANT DELETE/);
  });
});

describe('missingRightsSql', () => {
  it('binds the names of the tables and never writes them into the statement', () => {
    const { text, values } = missingRightsSql(['message; DROP TABLE message']);
    expect(text).not.toContain('DROP');
    expect(values).toContainEqual(['message; DROP TABLE message']);
  });
});
