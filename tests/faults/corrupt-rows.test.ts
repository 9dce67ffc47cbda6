import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
let ana: Person;
let bo: Person;

beforeEach(async () => {
  bed = await TestBed.startPaired();
  [ana, bo] = [bed.person(), bed.person()];
  for (const person of [ana, bo]) {
    await person.say('before', { to: bed.phone });
    await person.nextReply();
  }
});

afterEach(async () => {
  await bed.close();
});

async function sql(text: string, values: unknown[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: bed.database.url });
  await client.connect();
  try {
    return (await client.query(text, values)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

describe('A row that was corrupted by hand', () => {
  it('of a chat, claimed for a node that does not exist, is taken over and answered', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '1500']);
    await bed.service.addRoute(ana.phone, slow.url);
    await ana.say('slowly', { to: bed.phone });
    await ana.waitForPresence('composing');
    await bed.service.end('SIGKILL');
    expect(
      await sql(`UPDATE chat SET worker_node = 'nowhere', worker_epoch = worker_epoch + 7`),
    ).toBeGreaterThan(0);
    await bed.restartService();
    expect((await ana.nextReply()).text).toBe('Echo: slowly');
  });

  it('of a chat, with an invalid address, turns its replies into dead letters', async () => {
    // What WhatsApp still says of the reply would make it delivered again.
    await expect
      .poll(() => sql(`SELECT FROM outbox WHERE text = 'Echo: before' AND state = 'delivered'`))
      .toBe(2);
    await sql(`UPDATE chat SET reply_to = 'nowhere' WHERE phone = $1`, [ana.phone]);
    const { status } = await bed.service.api('POST', '/api/messages', { channelId: bo.phone, text: 'News.' });
    expect(status).toBe(202);
    await sql(
      `UPDATE outbox SET state = 'queued', to_jid = 'nowhere', attempts = 0 WHERE text = 'Echo: before' AND chat_id = (SELECT id FROM chat WHERE phone = $1)`,
      [ana.phone],
    );
    const letters = async () =>
      (await bed.service.api('GET', '/api/dead-letters')).body.data as Array<Record<string, unknown>>;
    await expect
      .poll(letters, { timeout: 60_000 })
      .toMatchObject([
        { reason: 'send-failed', error: expect.stringMatching(/neither a person nor a group/) },
      ]);
    expect((await bo.nextReply()).text).toBe('News.');
  });
});
