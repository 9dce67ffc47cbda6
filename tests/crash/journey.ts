import pg from 'pg';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Complaint, Verdict } from './judge.ts';
import type { Life } from './process-runs.ts';

/** Messages whose way is written out. */
const MOST_TOLD = 6;
/** Columns that say nothing about a message's way. */
const ROW_NOISE = new Set(['trace', 'plaintext', 'stanza', 'text', 'to_jid', 'push_name', 'account_id']);

/** Baileys says so of each ciphertext that was read before, and names none. */
const ROLLED_BACK = 'transaction failed, rolling back';

interface Sources {
  emulator: WhatsAppEmulator;
  verdict: Verdict;
  lives: readonly Life[];
  databaseUrl: string;
}

/** The way of each message complained of: the emulator's record, the service's log lines, the rows; in order of time. */
export async function journeys(sources: Sources): Promise<string> {
  const { unanswered, twice, outOfOrder, unexpected, unreadable, askedAgain } = sources.verdict;
  const told = Object.entries({ unanswered, twice, outOfOrder, unexpected, unreadable, askedAgain }).flatMap(
    ([what, complaints]) => complaints.map((complaint) => ({ what, complaint })),
  );
  return tell(sources, told);
}

/** The same of messages that were waiting when a life was ended for its length: no fault, but perhaps the sign of one. */
export async function waits(sources: Sources): Promise<string> {
  const told = sources.lives.flatMap(({ number, waiting = [] }) =>
    waiting.map((text) => ({ what: `waited in life ${number}`, complaint: { chat: '', text, ids: [] } })),
  );
  return tell(sources, told);
}

async function tell(
  sources: Sources,
  told: ReadonlyArray<{ what: string; complaint: Complaint }>,
): Promise<string> {
  if (told.length === 0) return '';
  const client = new pg.Client({ connectionString: sources.databaseUrl });
  await client.connect();
  try {
    const parts: string[] = [];
    for (const { what, complaint } of told.slice(0, MOST_TOLD)) {
      parts.push(await journey(sources, what, complaint, client));
    }
    if (told.length > MOST_TOLD) parts.push(`... and ${told.length - MOST_TOLD} more`);
    return parts.join('\n\n');
  } finally {
    await client.end();
  }
}

async function journey(
  { emulator, lives }: Sources,
  what: string,
  complaint: Complaint,
  client: pg.Client,
): Promise<string> {
  const entries = emulator.transcript();
  const question = complaint.text.replace(/^Echo: /, '');
  const ids = new Set(complaint.ids);
  for (const entry of entries) if (entry.kind === 'in' && entry.text === question) ids.add(entry.id);
  const rows = await rowsOf(client, [...ids]);
  const messageIds = new Set(rows.map((row) => row.match(/^message id=(\d+)/)?.[1]));

  const events: Array<{ atMs: number; text: string }> = [];
  for (const { id, atMs, kind, person, text, detail } of entries) {
    const isOfThis = ids.has(id) || text === `Echo: ${question}`;
    if (isOfThis)
      events.push({ atMs, text: `whatsapp ${kind} ${id} ${person} ${detail ?? ''} ${text ?? ''}` });
  }
  for (const life of lives) {
    events.push({
      atMs: life.startedAtMs,
      text: `-- life ${life.number} of ${life.node} (${life.plan}) began`,
    });
    for (const line of life.lines) {
      const isOfThis = ids.has(String(line.waMessageId)) || messageIds.has(String(line.messageId));
      if (!isOfThis && (line.level < 40 || line.said === ROLLED_BACK)) continue;
      const { time, level, msg, pid, hostname, ...fields } = line;
      events.push({
        atMs: Date.parse(String(time)),
        text: `life ${life.number} of ${life.node}: ${msg} ${JSON.stringify(fields).slice(0, 300)}`,
      });
    }
  }
  events.sort((a, b) => a.atMs - b.atMs);
  const first = events.findIndex(({ text }) => text.startsWith('whatsapp'));
  const lines = events.slice(Math.max(0, first - 3)).map(({ atMs, text }) => `  ${atMs} ${text}`);
  return [
    `${what}: "${complaint.text}" in ${complaint.chat}, reader ${complaint.reader ?? '-'}, ids ${[...ids].join(' ')}`,
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
