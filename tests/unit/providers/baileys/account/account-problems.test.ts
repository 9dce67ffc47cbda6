import { describe, expect, it } from 'vitest';
import { AccountProblems } from '../../../../../router/src/providers/baileys/account/account-problems.ts';

function setup() {
  let changes = 0;
  const problems = new AccountProblems(() => {
    changes += 1;
  });
  return { problems, changes: () => changes };
}

function sentencesOf(problems: AccountProblems): string[] {
  return problems.list().map(({ sentence }) => sentence);
}

describe('AccountProblems', () => {
  it('has no sentence while nothing is wrong', () => {
    const { problems, changes } = setup();
    expect([problems.list(), changes()]).toEqual([[], 0]);
  });

  it('reports every problem as a change', () => {
    const { problems, changes } = setup();
    problems.journalUnreadable('3EB0A');
    problems.messageRefused('3EB0B', 'The text is too long.');
    problems.keyUnreadable('session');
    problems.keyUnreadable('session');
    expect(changes()).toBe(4);
  });

  it('has one sentence per kind, however many rows are damaged', () => {
    const { problems } = setup();
    for (let row = 1; row <= 1_000; row += 1) {
      problems.journalUnreadable(`journal-${row}`);
      problems.messageRefused(`refused-${row}`, 'The text is too long.');
      problems.keyUnreadable('session');
    }
    const sentences = sentencesOf(problems);
    expect(sentences).toHaveLength(3);
    expect(sentences[0]).toContain(
      'journal-1, journal-2, journal-3, journal-4, journal-5 and 995 more. They stay in the journal',
    );
    expect(sentences[1]).toContain('refused-5 and 995 more. The text is too long.');
    expect(sentences[2]).toContain('(1000 session)');
    expect(sentences.join('').length).toBeLessThan(1_000);
  });

  it('names five ids without a count', () => {
    const { problems } = setup();
    for (let row = 1; row <= 5; row += 1) problems.journalUnreadable(`${row}`);
    expect(sentencesOf(problems)[0]).toContain(': 1, 2, 3, 4, 5. They stay in the journal');
  });

  it('names an id once', () => {
    const { problems } = setup();
    problems.messageRefused('3EB0A', 'The text is too long.');
    problems.messageRefused('3EB0A', 'The text is too long.');
    expect(sentencesOf(problems)[0]).toContain(': 3EB0A. The text is too long.');
  });

  it('gives the reason of the latest refusal', () => {
    const { problems } = setup();
    problems.messageRefused('3EB0A', 'The text is too long.');
    problems.messageRefused('3EB0B', 'The chat has no address.');
    expect(sentencesOf(problems)).toEqual([
      expect.stringMatching(/3EB0A, 3EB0B\. The chat has no address\.$/),
    ]);
  });

  it('counts unreadable keys by category, and names no key', () => {
    const { problems } = setup();
    for (const category of ['session', 'pre-key', 'session']) problems.keyUnreadable(category);
    expect(sentencesOf(problems)).toEqual([expect.stringContaining('(2 session, 1 pre-key)')]);
  });
});
