import pg from 'pg';
import { Cluster } from './cluster.ts';
import type { BenchGround } from './ground.ts';
import { type LoadChat, oneByOne } from './load.ts';
import { chatsWith } from './round.ts';
import { quantile } from './statistics.ts';
import type { Measured } from './targets.ts';

/** Round trips, one after the other, of each comparison. */
const TRIPS = 300;

/** The p50 of a round trip in milliseconds, with a large table beside a small one and late in a chat beside early. */
export async function measureScale(
  ground: BenchGround,
  { rows, turns }: { rows: number; turns: number },
): Promise<{ routes: Measured; chats: Measured; turns: Measured }> {
  const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 1 });
  const chats = chatsWith(
    ground,
    10,
    cluster.phones.map(({ pn }) => pn),
  );
  await oneByOne(chats, TRIPS);
  const small = await p50Of(chats);
  await insertRows(cluster.databaseUrl, ROUTES, rows);
  const manyRoutes = await p50Of(chats);
  await insertRows(cluster.databaseUrl, CHATS, rows);
  const manyChats = await p50Of(chats);
  const { roundTripsMs } = await oneByOne(chats.slice(0, 1), turns);
  await cluster.stop();
  const part = Math.floor(turns / 10);
  return {
    routes: { wa2ai: manyRoutes, reference: small },
    chats: { wa2ai: manyChats, reference: manyRoutes },
    turns: {
      wa2ai: quantile(roundTripsMs.slice(-part), 0.5),
      reference: quantile(roundTripsMs.slice(0, part), 0.5),
    },
  };
}

async function p50Of(chats: readonly LoadChat[]): Promise<number> {
  return quantile((await oneByOne(chats, TRIPS)).roundTripsMs, 0.5);
}

const ROUTES = `
  INSERT INTO route (id, account_id, channel_id, agent_endpoint, environment, config, updated_at)
  SELECT gen_random_uuid(), account_id, '3555' || lpad(number::text, 7, '0'), agent_endpoint, environment, config, now()
  FROM route, generate_series(1, $1::int) AS number WHERE channel_id = '*'`;

/** Each chat with what policies store, and with one answered message. */
const CHATS = `
  WITH added AS (
    INSERT INTO chat (account_id, phone, reply_to, policy_state)
    SELECT 'default', '3556' || lpad(number::text, 7, '0'), '3556' || lpad(number::text, 7, '0') || '@s.whatsapp.net',
      '{"sessions": {"chat": {"number": 3, "startMs": 1}}, "quotas": {"1": {"startMs": 1, "count": 2}}, "contextMs": 1}'
    FROM generate_series(1, $1::int) AS number RETURNING id, account_id)
  INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at, finished_at)
  SELECT account_id, id, 'ROW' || id, 'text', 'hello', 'answered', id, now(), now() FROM added`;

/** Inserts by SQL, and lets PostgreSQL see how large the tables are now, as its autovacuum would in time. */
async function insertRows(databaseUrl: string, statement: string, rows: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(statement, [rows]);
    await client.query('ANALYZE');
  } finally {
    await client.end();
  }
}
