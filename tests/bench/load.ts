import { setTimeout as wait } from 'node:timers/promises';
import type { Person } from '../whatsapp-emulator/person.ts';
import { quantile } from './statistics.ts';

/** The result of one load: round trips in milliseconds, and messages without a reply in time. */
export interface LoadResult {
  roundTripsMs: number[];
  lost: number;
  perSecond: number;
}

const ANSWER_WITHIN_MS = 30_000;

/** A chat of the load: the person and the account. */
export interface LoadChat {
  person: Person;
  to: string;
}

async function roundTrip({ person, to }: LoadChat, text: string): Promise<number | undefined> {
  const startMs = performance.now();
  await person.say(text, { to });
  try {
    await person.nextReply(ANSWER_WITHIN_MS);
    return performance.now() - startMs;
  } catch {
    return undefined;
  }
}

/** Sends `ratePerSecond` messages a second, spread evenly over the chats, without waiting for replies. */
export async function steady(
  chats: readonly LoadChat[],
  ratePerSecond: number,
  seconds: number,
): Promise<LoadResult> {
  const trips: Array<Promise<number | undefined>> = [];
  const startMs = performance.now();
  const total = ratePerSecond * seconds;
  for (let index = 0; index < total; index++) {
    const dueMs = startMs + (index * 1_000) / ratePerSecond;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 1) await wait(aheadMs);
    trips.push(roundTrip(chats[index % chats.length] as LoadChat, `question ${index}`));
  }
  return result(await Promise.all(trips), startMs);
}

/** At full speed: each person writes again as soon as the reply arrives, until `total` messages were sent. */
export async function saturated(
  chats: readonly LoadChat[],
  total: number,
  onAnswered?: (count: number) => void,
): Promise<LoadResult> {
  const trips: Array<number | undefined> = [];
  let asked = 0;
  const startMs = performance.now();
  await Promise.all(
    chats.map(async (chat) => {
      while (asked < total) {
        asked++;
        trips.push(await roundTrip(chat, `question ${asked}`));
        onAnswered?.(trips.length);
      }
    }),
  );
  return result(trips, startMs);
}

/** One message of each person at the same moment. */
export async function atOnce(chats: readonly LoadChat[]): Promise<LoadResult> {
  const startMs = performance.now();
  return result(await Promise.all(chats.map((chat) => roundTrip(chat, 'hello'))), startMs);
}

/** One message after the other, each from the next chat: work that nothing else shares. */
export async function oneByOne(chats: readonly LoadChat[], total: number): Promise<LoadResult> {
  const trips: Array<number | undefined> = [];
  const startMs = performance.now();
  for (let index = 0; index < total; index++) {
    trips.push(await roundTrip(chats[index % chats.length] as LoadChat, `question ${index}`));
  }
  return result(trips, startMs);
}

function result(trips: Array<number | undefined>, startMs: number): LoadResult {
  const roundTripsMs = trips.filter((trip) => trip !== undefined);
  const seconds = (performance.now() - startMs) / 1_000;
  return { roundTripsMs, lost: trips.length - roundTripsMs.length, perSecond: roundTripsMs.length / seconds };
}

/** Half and 95 % of the round trips took at most so many milliseconds. */
export function describe({ roundTripsMs }: LoadResult): { p50: number; p95: number } {
  return { p50: quantile(roundTripsMs, 0.5), p95: quantile(roundTripsMs, 0.95) };
}
