import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SettableClock } from '../support/set-clock.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const HOUR_MS = 3_600_000;

let clock: SettableClock;
let bed: TestBed;
let ana: Person;

beforeAll(async () => {
  clock = await SettableClock.create();
  bed = await TestBed.startPaired(clock.process);
});
beforeEach(() => {
  ana = bed.person();
});

afterAll(async () => {
  await bed.close();
  await clock.remove();
});

async function expectAnAnswer(text: string): Promise<void> {
  await ana.say(text, { to: bed.phone });
  expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
}

describe('A clock that is set', () => {
  it('days ahead and back again leaves every message answered in order', async () => {
    const said = ['before'];
    await expectAnAnswer('before');
    for (const [text, shiftMs] of [
      ['days ahead', 30 * HOUR_MS],
      ['days back', -30 * HOUR_MS],
      ['right again', 0],
    ] as const) {
      await clock.set(shiftMs, bed.service);
      await expectAnAnswer(text);
      said.push(text);
    }
    const { body } = await bed.service.api('GET', '/api/messages?limit=10');
    const rows = body.data as Array<{ text: string; state: string }>;
    expect(rows.map(({ text, state }) => [text, state])).toEqual(
      said.toReversed().map((text) => [text, 'answered']),
    );
  });

  it('back between two runs of the process does not reverse the order of a chat', async () => {
    const { env, nodeArgs } = clock.process;
    await clock.set(30 * HOUR_MS, bed.service);
    await expectAnAnswer('one');
    await bed.service.end('SIGKILL');
    await clock.set(-30 * HOUR_MS);
    for (const text of ['two', 'three']) await ana.say(text, { to: bed.phone });
    await bed.restartService(env, nodeArgs);
    await ana.say('four', { to: bed.phone });
    const bubbles = await ana.waitForReceived(4);
    expect(bubbles.map(({ text }) => text)).toEqual(['one', 'two', 'three', 'four'].map((t) => `Echo: ${t}`));
    const orders = await bed.database
      .open()
      .query<{ stanzaOrder: bigint }>(sql`SELECT stanza_order AS "stanzaOrder" FROM message
        WHERE text IN ('one', 'two', 'three', 'four') ORDER BY id`);
    const values = orders.map(({ stanzaOrder }) => stanzaOrder);
    expect(values).toEqual(values.toSorted((a, b) => Number(a - b)));
    expect(new Set(values).size).toBe(4);
  });
});
