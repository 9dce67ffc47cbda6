import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, untilState } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
let ana: Person;
let bo: Person;

afterEach(async () => {
  await bed.close();
});

/** Corrupts the database, as an edit by hand or a failed restore would. */
async function sql(text: string, values: unknown[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: bed.database.url });
  await client.connect();
  try {
    return (await client.query(text, values)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

async function expectAnAnswer(person: Person, text: string): Promise<void> {
  await person.say(text, { to: bed.phone });
  expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
}

async function account(): Promise<Record<string, unknown>> {
  const { body } = await bed.service.api('GET', '/api/accounts/default');
  return body.data as Record<string, unknown>;
}

const BROKEN_CONFIGS = ['{}', '"x"', 'null', '{"adk":{"appName":5}}', '{"adk":{}}', '{"fax":{"number":"1"}}'];

describe('Routes with a corrupted config', () => {
  it('turn their messages into dead letters with the reason, and answer them on replay after a repair', async () => {
    bed = await TestBed.startPaired();
    const [other, ...people] = [undefined, ...BROKEN_CONFIGS].map(() => bed.person());
    const routes: string[] = [];
    for (const [index, config] of BROKEN_CONFIGS.entries()) {
      const { id } = await bed.service.addRoute(people[index]?.phone ?? '', bed.agent.url);
      await sql('UPDATE route SET config = $2 WHERE id = $1', [id, config]);
      routes.push(id);
    }
    const asked = await Promise.all(people.map((person) => person.say('hello', { to: bed.phone })));
    await expectAnAnswer(other as Person, 'and me?');
    for (const id of asked) {
      await expect
        .poll(() => bed.message(id), { timeout: 60_000 })
        .toMatchObject({ state: 'dead', reason: expect.stringMatching(/^(ROUTE_DAMAGED|AGENT_PROTOCOL)$/) });
    }
    const listed = await bed.service.api('GET', '/api/routes');
    expect(listed).toMatchObject({ status: 200, body: { count: 1 + routes.length } });

    for (const id of routes) {
      const route = {
        agentEndpoint: bed.agent.url,
        environment: 'lab',
        config: { adk: { appName: 'test_agent' } },
      };
      const repaired = await bed.service.api('PUT', `/api/routes/${id}`, route);
      expect(repaired).toMatchObject({ status: 200, body: { data: { config: route.config } } });
      expect(repaired.body.data).not.toHaveProperty('damage');
    }
    await bed.service.api('POST', '/api/dead-letters/replay', {});
    for (const person of people) expect((await person.nextReply()).text).toBe('Echo: hello');
  });
});

describe('At the start', () => {
  beforeEach(async () => {
    bed = await TestBed.startPaired();
    [ana, bo] = [bed.person(), bed.person({ via: 'lid' })];
    await expectAnAnswer(ana, 'before');
    await expectAnAnswer(bo, 'before');
    await bed.service.end();
  });

  it('a corrupted journal is reported for the account, and every chat is answered', async () => {
    await sql(
      `INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
       VALUES ('default', 'h1', 1, 'NOISE', '\\x00', '\\x00'), ('default', 'h2', 2, 'NOISE2', '\\xff', '{}')`,
    );
    await ana.say('while away', { to: bed.phone });
    await bed.restartService();
    await untilState(bed.service, 'open');
    expect((await ana.nextReply()).text).toBe('Echo: while away');
    await expectAnAnswer(bo, 'after');
    const { problems, state } = await account();
    expect(state).toBe('open');
    expect(problems).toContainEqual(
      expect.stringMatching(/journal has messages of unknown chats that cannot be read: NOISE, NOISE2/),
    );
    expect((await bed.service.api('GET', '/health/ready')).status).toBe(200);
  });

  it('corrupted Signal keys are reported and replaced by requesting the messages again', async () => {
    const damaged = await sql(
      `UPDATE auth_key SET value = left(value, 7) || '☠' WHERE category IN
         ('session', 'lid-mapping', 'device-list', 'tctoken', 'pre-key', 'sender-key')`,
    );
    expect(damaged).toBeGreaterThan(0);
    await bed.restartService();
    await expectAnAnswer(ana, 'after');
    await expectAnAnswer(bo, 'after');
    // a new contact uses one of the one-time keys
    await expectAnAnswer(bed.person(), 'I am new');
    expect((await account()).problems).toContainEqual(expect.stringMatching(/keys cannot be read.*session/));
  });

  it('unreadable credentials lead to a state that asks to link again, and log in once restored', async () => {
    await sql(`CREATE TABLE saved AS SELECT * FROM auth_key WHERE category = 'creds'`);
    await sql(`UPDATE auth_key SET value = left(value, 100) WHERE category = 'creds'`);
    await bed.startService();
    await untilState(bed.service, 'logged-out');
    expect(await account()).toMatchObject({
      reason: expect.stringMatching(/credentials of this account cannot be read.*backup.*link it again/i),
      nextAction: expect.stringMatching(/link/i),
    });
    const ready = await bed.service.api('GET', '/health/ready');
    expect(ready).toMatchObject({ status: 503, body: { reasons: [{ name: 'account:default' }] } });
    await bed.service.end();

    await sql(`UPDATE auth_key a SET value = s.value FROM saved s WHERE a.category = 'creds'`);
    await bed.restartService();
    await untilState(bed.service, 'open');
    await expectAnAnswer(ana, 'restored');
  });

  it('unreadable credentials are archived when the account is linked again', async () => {
    await sql(`UPDATE auth_key SET value = '{}' WHERE category = 'creds'`);
    await bed.startService();
    await untilState(bed.service, 'logged-out');
    bed.phone.unlink();
    await bed.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
    await pairByQr(bed.service, bed.phone, bed.emulator);
    await expectAnAnswer(ana, 'linked again');
    expect(await sql(`SELECT 1 FROM auth_key WHERE category = 'creds'`)).toBe(2);
  });
});
