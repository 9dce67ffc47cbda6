import pg from 'pg';
import { isAtLeast } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { TranscriptCheck, Violation } from './check-transcript.ts';
import type { ProcessRun } from './process-runs.ts';

/** Messages that are traced. */
const MOST_REPORTED = 6;
/** Columns that do not help to trace a message. */
const ROW_NOISE = new Set(['trace', 'plaintext', 'stanza', 'text', 'to_jid', 'push_name', 'account_id']);

interface Sources {
  emulator: WhatsAppEmulator;
  check: TranscriptCheck;
  runs: readonly ProcessRun[];
  databaseUrl: string;
}

/** Traces each message with a violation: emulator record, log lines of the service, and rows, in order of time. */
export async function traces(sources: Sources): Promise<string> {
  const { unanswered, twice, outOfOrder, unexpected, unreadable, requestedAgain } = sources.check;
  const reported = Object.entries({
    unanswered,
    twice,
    outOfOrder,
    unexpected,
    unreadable,
    requestedAgain,
  }).flatMap(([what, violations]) => violations.map((violation) => ({ what, violation })));
  return describeMessages(sources, reported);
}

/** Traces the messages that were unanswered when a run took too long and was killed: not a failure, but perhaps a sign of one. */
export async function waits(sources: Sources): Promise<string> {
  const reported = sources.runs.flatMap(({ number, waiting = [] }) =>
    waiting.map((text) => ({ what: `waited in run ${number}`, violation: { chat: '', text, ids: [] } })),
  );
  return describeMessages(sources, reported);
}

async function describeMessages(
  sources: Sources,
  reported: ReadonlyArray<{ what: string; violation: Violation }>,
): Promise<string> {
  if (reported.length === 0) return '';
  const client = new pg.Client({ connectionString: sources.databaseUrl });
  await client.connect();
  try {
    const parts: string[] = [];
    for (const { what, violation } of reported.slice(0, MOST_REPORTED)) {
      parts.push(await traceOf(sources, what, violation, client));
    }
    if (reported.length > MOST_REPORTED) parts.push(`... and ${reported.length - MOST_REPORTED} more`);
    return parts.join('\n\n');
  } finally {
    await client.end();
  }
}

async function traceOf(
  { emulator, runs }: Sources,
  what: string,
  violation: Violation,
  client: pg.Client,
): Promise<string> {
  const entries = emulator.transcript();
  const question = violation.text.replace(/^Echo: /, '');
  const ids = new Set(violation.ids);
  for (const entry of entries) if (entry.kind === 'in' && entry.text === question) ids.add(entry.id);
  const rows = await rowsOf(client, [...ids]);
  const messageIds = new Set(rows.map((row) => row.match(/^message id=(\d+)/)?.[1]));

  const events: Array<{ atMs: number; text: string }> = [];
  for (const { id, atMs, kind, person, text, detail } of entries) {
    const isOfThis = ids.has(id) || text === `Echo: ${question}`;
    if (isOfThis)
      events.push({ atMs, text: `whatsapp ${kind} ${id} ${person} ${detail ?? ''} ${text ?? ''}` });
  }
  for (const run of runs) {
    events.push({
      atMs: run.startedAtMs,
      text: `-- run ${run.number} of ${run.node} (${run.plan}) began`,
    });
    for (const line of run.lines) {
      const isOfThis = ids.has(String(line.waMessageId)) || messageIds.has(String(line.messageId));
      if (!isOfThis && !isAtLeast('warn', line)) continue;
      const { time, level, msg, pid, hostname, ...fields } = line;
      events.push({
        atMs: Date.parse(String(time)),
        text: `run ${run.number} of ${run.node}: ${msg} ${JSON.stringify(fields).slice(0, 300)}`,
      });
    }
  }
  events.sort((a, b) => a.atMs - b.atMs);
  const first = events.findIndex(({ text }) => text.startsWith('whatsapp'));
  const lines = events.slice(Math.max(0, first - 3)).map(({ atMs, text }) => `  ${atMs} ${text}`);
  return [
    `${what}: "${violation.text}" in ${violation.chat}, reader ${violation.reader ?? '-'}, ids ${[...ids].join(' ')}`,
    ...lines.slice(0, 120),
    ...rows.map((row) => `  row ${row}`),
  ].join('\n');
}

async function rowsOf(client: pg.Client, ids: string[]): Promise<string[]> {
  const found: string[] = [];
  const queries = {
    message: 'SELECT * FROM message WHERE wa_message_id = ANY($1)',
    outbox:
      'SELECT * FROM outbox WHERE wa_message_id = ANY($1) OR message_id IN (SELECT id FROM message WHERE wa_message_id = ANY($1))',
    journal: 'SELECT * FROM journal WHERE wa_message_id = ANY($1)',
    chat: 'SELECT * FROM chat WHERE id IN (SELECT chat_id FROM message WHERE wa_message_id = ANY($1))',
  };
  for (const [table, sql] of Object.entries(queries)) {
    const { rows } = await client.query<Record<string, unknown>>(sql, [ids]);
    for (const row of rows) {
      const fields = Object.entries(row)
        .filter(([name, value]) => value !== null && !ROW_NOISE.has(name))
        .map(([name, value]) => `${name}=${value instanceof Date ? value.getTime() : String(value)}`);
      found.push(`${table} ${fields.join(' ')}`);
    }
  }
  return found;
}
