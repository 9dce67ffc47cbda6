import pg from 'pg';

/**
 * How long PostgreSQL may owe an answer before its connection is given up, in milliseconds. Longer than any statement of
 * this service takes, a wait for a row that a hung process holds included (15 s, prisma-client.ts).
 */
const ANSWER_LIMIT_MS = 30_000;

/**
 * Ends a connection whose server owes an answer for longer than the limit; what waits on it fails as when it breaks. A host
 * that is gone without a word (a fail-over, a power cut) resets nothing, and a statement that it took would else be waited
 * for as long as TCP's keepalive takes: minutes to hours, with the node taking nothing in and never coming back by itself.
 */
export function limitAnswers(client: pg.ClientBase, limitMs: number = ANSWER_LIMIT_MS): void {
  if (!(client instanceof pg.Client)) throw new TypeError('not a connection of pg');
  let timer: NodeJS.Timeout | undefined;
  const forget = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  // "drain": the last of the statements under way was answered. A busy connection gets there for hours not once: in the
  // very step in which one is answered, the pool's next is under way.
  client.connection.on('readyForQuery', () => timer?.refresh());
  client.on('drain', forget);
  client.on('end', forget);
  Object.assign(client, {
    query: (...args: unknown[]): unknown => {
      timer ??= setTimeout(() => void client.end().catch(() => undefined), limitMs).unref();
      return Reflect.apply(pg.Client.prototype.query, client, args);
    },
  });
}

/**
 * Asks something now and then on a connection that does nothing but hold a lock, so that `limitAnswers` finds out when
 * nobody is there any more. Ends with the connection.
 */
export function keepAsking(client: pg.Client, options: { everyMs: number; limitMs: number }): void {
  limitAnswers(client, options.limitMs);
  let isAnswered = true;
  const ask = async () => {
    if (!isAnswered) return;
    isAnswered = false;
    await client.query('SELECT 1').catch(() => undefined);
    isAnswered = true;
  };
  const timer = setInterval(() => void ask(), options.everyMs).unref();
  client.once('end', () => clearInterval(timer));
}
