import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { retentionRules } from '../../router/src/features.ts';
import { Retention } from '../../router/src/infra/db/upkeep/retention.ts';
import { countRows } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { quietLog } from '../support/quiet-log.ts';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import { revocation } from '../whatsapp-emulator/message-content.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const DAY_MS = 86_400_000;
const NOT_ANY_MORE = { status: 404, bytes: undefined };

let bed: TestBed;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-received-'));
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
  await rm(folder, { recursive: true, force: true });
});

/** A picture that a person sends, when its turn has ended. */
async function sends(person: Person) {
  const bytes = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(3_000)]);
  const message = bed.emulator.mediaHost.message('image', bytes, { mimeType: 'image/png', caption: 'look' });
  const waMessageId = await person.say(message, { to: bed.phone });
  const { id } = await bed.untilTurnEnded(waMessageId);
  return { id: String(id), waMessageId, bytes, message };
}

/** What the API gives of the file of a message; `bytes` of a success only. */
async function fileOf(id: string) {
  const response = await fetch(`${bed.service.url}/api/messages/${id}/file`);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, bytes: response.ok ? bytes : undefined };
}

const stored = (id: string) => sql`message_file WHERE message_id = ${id}::bigint`;

/** Resolves when the file of a message is stored, which nobody waits for. */
async function untilStored(id: string): Promise<void> {
  const postgres = bed.database.open();
  await until(`the file of message ${id} is stored`, async () =>
    (await countRows(postgres, stored(id))) === 1 ? true : undefined,
  );
}

/** Removes what is too old in so many days. */
async function inDays(days: number): Promise<void> {
  const limits = { text: 90, outbox: 30, files: 30, exchanges: 7, deadLetters: 90, workflows: 0 };
  const clock = new FakeClock(Date.now() + days * DAY_MS);
  await new Retention({
    postgres: bed.database.open(),
    rules: retentionRules(),
    limits: () => ({ ...limits, journal: 7, oldKeys: 30, webhooks: 30, audit: 0 }),
    clock,
    log: quietLog,
  }).runOnce();
}

describe('a file that a person sends', () => {
  it('is stored when it is first loaded, and there after a crash when WhatsApp has lost it, until it is too old', async () => {
    const person = bed.person();
    const [loaded, missed] = [await sends(person), await sends(person)];
    expect(await fileOf(loaded.id)).toEqual({ status: 200, bytes: loaded.bytes });
    await untilStored(loaded.id);
    for (const { message } of [loaded, missed]) bed.emulator.mediaHost.forget(message);
    await bed.service.end('SIGKILL');
    await bed.restartService();
    const downloads = bed.emulator.mediaHost.downloads.length;
    expect(await fileOf(loaded.id)).toEqual({ status: 200, bytes: loaded.bytes });
    expect(bed.emulator.mediaHost.downloads).toHaveLength(downloads);
    expect((await fileOf(missed.id)).status).not.toBe(200);

    await inDays(29);
    expect((await fileOf(loaded.id)).status).toBe(200);
    await inDays(31);
    expect(await countRows(bed.database.open(), stored(loaded.id))).toBe(0);
    expect((await fileOf(loaded.id)).status).not.toBe(200);
  });

  it('of a paused chat is shown, until its author takes the message back', async () => {
    const person = bed.person();
    await person.say('hello', { to: bed.phone });
    await person.nextReply();
    const { body } = await bed.service.api('GET', `/api/chats?channelId=${person.phone}`);
    const [chat] = body.data as Array<{ id: string }>;
    await bed.service.api('POST', `/api/chats/${chat?.id}/pause`);
    const { id, waMessageId, bytes } = await sends(person);
    expect(await fileOf(id)).toEqual({ status: 200, bytes });
    await untilStored(id);
    const taken = await person.say(revocation(waMessageId), { to: bed.phone });
    await bed.untilTurnEnded(taken);
    expect(await fileOf(id)).toEqual(NOT_ANY_MORE);
  });

  it('is not stored where the settings say so', async () => {
    await bed.service.end();
    await bed.restartService({ WA2AI_MEDIA_RECEIVED: 'not-stored' });
    const { id, bytes, message } = await sends(bed.person());
    expect(await fileOf(id)).toEqual({ status: 200, bytes });
    bed.emulator.mediaHost.forget(message);
    expect((await fileOf(id)).status).not.toBe(200);
    expect(await countRows(bed.database.open(), stored(id))).toBe(0);
  });

  it('is loaded from WhatsApp again when its bytes on the disk are not those that were stored', async () => {
    await bed.service.end();
    await bed.restartService({ WA2AI_MEDIA_STORE: 'disk', WA2AI_MEDIA_DIR: folder });
    const { id, bytes } = await sends(bed.person());
    expect(await fileOf(id)).toEqual({ status: 200, bytes });
    await untilStored(id);
    const [part = ''] = await readdir(folder);
    const [name = ''] = await readdir(join(folder, part));
    const path = join(folder, part, name);
    expect(await readFile(path)).toEqual(bytes);
    await writeFile(path, Buffer.from(bytes).fill(0, 100, 110));
    const downloads = bed.emulator.mediaHost.downloads.length;
    expect(await fileOf(id)).toEqual({ status: 200, bytes });
    expect(bed.emulator.mediaHost.downloads.length).toBeGreaterThan(downloads);
    expect(bed.service.output).toContain('stored file not readable, loading it again');
  });
});
