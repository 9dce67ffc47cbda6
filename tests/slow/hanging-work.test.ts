import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import sql from 'sql-template-tag';
import { expect, it, onTestFinished } from 'vitest';
import { PostgresDeadLetters } from '../../router/src/features/dead-letters/dead-letters.ts';
import { createTestDatabase } from '../support/database.ts';
import { repositoryRoot } from '../support/repository.ts';

const program = join(repositoryRoot, 'dist/tests/support/hanging-node.js');

interface Row {
  text: string;
  state: string;
  reason: string | null;
  id: string;
}

/** A database, and nodes on it that hang over some texts (tests/support/hanging-node.ts). */
async function setup() {
  if (!existsSync(program)) throw new Error('run "npm run check" first: a built program is started');
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const postgres = database.open();
  const rows = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await postgres.query<Row>(sql`SELECT text, state, reason FROM message ORDER BY id`)).map(
        ({ text, state, reason }) => [text, reason ?? state],
      ),
    );
  function start(...texts: string[]) {
    const child = spawn(process.execPath, [program, database.url, ...texts], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines: Array<Record<string, unknown>> = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
    return { lines, ended: once(child, 'close'), child };
  }
  /** Starts a node that the watchdog ends. @returns what it worked on */
  async function hang(...texts: string[]) {
    const { lines, ended } = start(...texts);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(lines).toMatchObject([{ mod: 'watchdog' }]);
    return lines[0]?.work;
  }
  return { postgres, rows, start, hang };
}

it('a message over which wa2ai hangs becomes a dead letter after three processes, and everybody else is answered', {
  timeout: 120_000,
}, async () => {
  const { postgres, rows, start } = await setup();
  for (const texts of [['hello', 'poison', 'hi'], [], ['one more']]) {
    const { lines, ended } = start(...texts);
    expect(await ended).toEqual([null, 'SIGKILL']);
    const [row] = await postgres.query<Row>(sql`SELECT id::text FROM message WHERE text = 'poison'`);
    expect(lines).toMatchObject([
      {
        level: 'fatal',
        mod: 'watchdog',
        work: `message ${row?.id}`,
        msg: 'main thread does not respond, ending the process',
        stack: expect.arrayContaining([expect.stringMatching(/^hang hanging-node\.js:/)]),
      },
    ]);
    expect(await rows()).toMatchObject({ poison: 'received' });
  }
  const last = start('the last');
  const answered = { hello: 'answered', 'one more': 'answered', 'the last': 'answered' };
  // The first node may have ended before it stored the message behind.
  const behind = (all: Record<string, string>) => ({ hi: 'answered', ...all });
  await expect
    .poll(async () => behind(await rows()), { timeout: 30_000 })
    .toEqual({ ...answered, hi: 'answered', poison: 'PROCESS_ENDED' });
  last.child.kill('SIGKILL');
  await last.ended;

  // A replay begins from the start.
  const [letter] = await postgres.query<Row>(sql`SELECT id::text, reason FROM dead_letter`);
  expect(letter?.reason).toBe('PROCESS_ENDED');
  expect(await new PostgresDeadLetters(postgres).replay(letter?.id ?? '', 'n1')).toMatchObject({
    outcome: 'replayed',
  });
  const again = await postgres.query(sql`SELECT suspicion, runs_alone FROM message WHERE text = 'poison'`);
  expect(again).toEqual([{ suspicion: 0, runs_alone: false }]);
});

it('a reply over which wa2ai hangs becomes a dead letter after three processes, and all others are sent', {
  timeout: 120_000,
}, async () => {
  const { postgres, rows, start, hang } = await setup();
  const replies = async () =>
    Object.fromEntries(
      (await postgres.query<Row>(sql`SELECT text, state FROM outbox ORDER BY id`)).map(({ text, state }) => [
        text,
        state,
      ]),
    );
  for (const texts of [['hello', 'unsendable', 'hi'], [], ['one more']]) {
    const work = await hang(...texts);
    const [row] = await postgres.query<Row>(sql`SELECT id::text FROM outbox WHERE text = 're unsendable'`);
    expect(work).toBe(`reply ${row?.id}`);
    expect(await replies()).toMatchObject({ 're unsendable': 'sending' });
  }
  const last = start('the last');
  // A node may have ended before it stored the other messages.
  await expect
    .poll(rows, { timeout: 30_000 })
    .toMatchObject({ unsendable: 'answered', 'the last': 'answered' });
  const expected = Object.keys(await rows()).map((text) => [
    `re ${text}`,
    text === 'unsendable' ? 'dead' : 'sent',
  ]);
  await expect.poll(replies, { timeout: 30_000 }).toEqual(Object.fromEntries(expected));
  last.child.kill('SIGKILL');
  await last.ended;

  // A replay begins from the start.
  const [letter] = await postgres.query<Row>(sql`SELECT id::text, reason FROM dead_letter`);
  expect(letter?.reason).toBe('process-ended');
  await new PostgresDeadLetters(postgres).replay(letter?.id ?? '', 'n1');
  const again = await postgres.query(
    sql`SELECT state, suspicion, runs_alone FROM outbox WHERE text = 're unsendable'`,
  );
  expect(again).toEqual([{ state: 'queued', suspicion: 0, runs_alone: false }]);
});

it('a decrypted message over which wa2ai hangs is recorded as undecryptable after four processes', {
  timeout: 120_000,
}, async () => {
  const { postgres, rows, start, hang } = await setup();
  for (const texts of [['journal:unstorable', 'journal:hello'], ['journal:'], ['journal:'], ['journal:']]) {
    const work = await hang(...texts);
    const [entry] = await postgres.query<{ id: string }>(
      sql`SELECT wa_message_id AS id FROM journal ORDER BY stanza_order LIMIT 1`,
    );
    expect(work).toBe(`stanza ${entry?.id}`);
  }
  const last = start('journal:', 'the last');
  await expect
    .poll(rows, { timeout: 30_000 })
    .toEqual({ hello: 'answered', '': 'undecryptable', 'the last': 'answered' });
  last.child.kill('SIGKILL');
  await last.ended;
});
