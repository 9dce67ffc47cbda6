import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { encryptedEdit, place } from '../whatsapp-emulator/message-content.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

/** Texts wait until something follows that is a question by itself. */
const pace = { debounceMs: 60_000, maxWaitMs: 60_000 };

/** A person whose texts wait. */
async function someone(options: { via?: 'pn' | 'lid' } = {}): Promise<Person> {
  const person = bed.person(options);
  await bed.service.addRoute(person.phone, bed.agent.url, { config: { pace } });
  return person;
}

/** Ends the wait of the person's texts. */
const sendPlace = (person: Person) => person.say(place(48.2, 16.4, 'Here'), { to: bed.phone });

const untilStored = (waMessageId: string) =>
  bed.service.untilLog((line) => line.msg === 'message received' && line.waMessageId === waMessageId);

const BY = [
  { author: 'pn', editor: 'pn' },
  { author: 'lid', editor: 'lid' },
  { author: 'pn', editor: 'lid' },
  { author: 'lid', editor: 'pn' },
] as const;

describe('an edit that the phone encrypted', () => {
  it.each(['pn', 'lid'] as const)(
    'replaces the text of a question by %s, in the keys of all addresses',
    async (via) => {
      await Promise.all(
        BY.map(async (encrypted) => {
          const ana = await someone({ via });
          const first = await ana.say('first line', { to: bed.phone });
          const id = await ana.say('tomorow?', { to: bed.phone });
          const edit = await ana.edit(id, 'tomorrow?', { to: bed.phone, encrypted });
          await sendPlace(ana);
          const [answer, ...others] = await ana.waitForReceived(2);
          // One question with the line before it.
          expect(answer?.text).toBe('Echo: first line\ntomorrow?');
          expect(others).toMatchObject([{ text: expect.stringContaining('Here') }]);
          expect(await bed.untilTurnEnded(edit)).toMatchObject({ reason: 'edit-applied', editOf: id });
          expect(await bed.untilTurnEnded(id)).toMatchObject({
            text: 'tomorrow?',
            edits: 1,
            state: 'answered',
          });
          expect(await bed.untilTurnEnded(first)).toMatchObject({ reason: 'merged' });
          expect(ana.received).toHaveLength(2);
        }),
      );
    },
  );

  describe('after a kill -9 since the message', () => {
    let bo: Person;
    let id: string;
    let edit: string;
    const notes: string[] = [];

    beforeAll(async () => {
      bo = bed.person({ via: 'lid' });
      id = await bo.say('nine?', { to: bed.phone });
      expect((await bo.nextReply()).text).toBe('Echo: nine?');
      for (const secretIn of ['message', 'outside', undefined] as const) {
        const note = await bed.phone.say('note tomorow', { to: bed.phone, secretIn });
        await untilStored(note);
        notes.push(note);
      }
      await bed.service.end('SIGKILL');
      edit = await bo.edit(id, 'ten?', { to: bed.phone, encrypted: { author: 'lid', editor: 'lid' } });
      await bed.restartService();
    });

    it('is answered when it comes after the answer', async () => {
      expect((await bo.nextReply()).text).toBe('Echo: ten?');
      expect(await bed.untilTurnEnded(edit)).toMatchObject({ text: 'ten?', editOf: id, state: 'answered' });
    });

    it('counts in the chat of the owner with themselves when the secret is in the message, beside it or both', async () => {
      for (const note of notes) {
        const secret = bed.phone.secretOf(note);
        const content = encryptedEdit(
          { id: note, secret, author: bed.phone.lid },
          bed.phone.lid,
          'note tomorrow',
        );
        const editId = await bed.phone.say(content, { to: bed.phone });
        await untilStored(editId);
        expect(await bed.message(editId)).toMatchObject({ editOf: note });
      }
    });
  });

  it.each(['lid', 'pn'] as const)(
    'counts in a group with %s addressing, and a forged one of another member changes nothing',
    async (addressing) => {
      const [cleo, dan] = [bed.person(), bed.person()];
      const group = createGroup(bed.emulator, {
        subject: 'Forum',
        addressing,
        members: [cleo, dan, bed.phone],
      });
      const config = { group: { answer: 'always' }, pace };
      await bed.service.addRoute(group.jid, bed.agent.url, { config });
      const id = await cleo.say('pay Dann', { to: group });
      const forged: string[] = [];
      for (const author of [cleo.lid, cleo.pn, dan.lid]) {
        for (const editor of [cleo.lid, cleo.pn, dan.lid, dan.pn]) {
          const content = encryptedEdit({ id, secret: cleo.secretOf(id), author }, editor, 'pay me');
          forged.push(await dan.say(content, { to: group }));
        }
      }
      const edit = await cleo.edit(id, 'pay Dan', { to: group, encrypted: { author: 'lid', editor: 'lid' } });
      // A message of another member ends the wait.
      await dan.say('sure', { to: group });
      expect((await cleo.nextReply()).text).toContain('pay Dan');
      expect(await bed.untilTurnEnded(edit)).toMatchObject({ reason: 'edit-applied' });
      expect(await bed.untilTurnEnded(id)).toMatchObject({ text: 'pay Dan', edits: 1 });
      for (const each of forged) {
        expect(await bed.untilTurnEnded(each)).toMatchObject({
          state: 'ignored',
          reason: 'encrypted-edit',
          text: '',
          trace: [{ step: 'encrypted-edit', outcome: 'other-author' }],
        });
      }
      expect(JSON.stringify([...cleo.received, ...dan.received].map(({ text }) => text))).not.toContain(
        'pay me',
      );
    },
  );

  it('is an event of webhooks with the new text and the id of the message, and a forged one has no text', async () => {
    const receiver = await WebhookReceiver.start();
    const webhook = { url: receiver.url, events: ['message'], secret: WebhookReceiver.SECRET };
    const added = (await bed.service.api('POST', '/api/webhooks', webhook)).body.data as { id: string };
    try {
      const [gil, hana] = [bed.person(), bed.person()];
      const group = createGroup(bed.emulator, { subject: 'Hooks', members: [gil, hana, bed.phone] });
      const id = await gil.say('at nine', { to: group });
      const original = { id, secret: gil.secretOf(id), author: gil.lid };
      const forged = await hana.say(encryptedEdit(original, hana.lid, 'at noon'), { to: group });
      const edit = await gil.edit(id, 'at ten', { to: group, encrypted: { author: 'lid', editor: 'lid' } });
      const bodies = () => receiver.taken.map(({ body }) => body);
      await expect.poll(() => bodies().map(({ messageId }) => messageId)).toContain(edit);
      const bodyOf = (messageId: string) => bodies().find((body) => body.messageId === messageId);
      expect(bodyOf(id)).toMatchObject({ text: 'at nine', editOf: null });
      expect(bodyOf(edit)).toMatchObject({ text: 'at ten', editOf: id, from: expect.any(String) });
      expect(bodyOf(forged)).toMatchObject({ text: '', editOf: null, reason: 'encrypted-edit' });
    } finally {
      await bed.service.api('DELETE', `/api/webhooks/${added.id}`);
      await receiver.stop();
    }
  });

  it('keeps its reason when the message was stored by an earlier version, and the trace says why', async () => {
    const eva = await someone();
    const id = await eva.say('nine?', { to: bed.phone });
    await untilStored(id);
    const client = new pg.Client({ connectionString: bed.database.url });
    await client.connect();
    await client.query('UPDATE message SET secret = NULL WHERE wa_message_id = $1', [id]);
    await client.end();
    const edit = await eva.edit(id, 'ten?', { to: bed.phone, encrypted: BY[0] });
    await sendPlace(eva);
    expect((await eva.nextReply()).text).toBe('Echo: nine?');
    expect(await bed.untilTurnEnded(edit)).toMatchObject({
      state: 'ignored',
      reason: 'encrypted-edit',
      trace: [{ step: 'encrypted-edit', outcome: 'no-secret', sentence: expect.stringContaining('secret') }],
    });
  });

  it('shows no secret in the API or the log', async () => {
    const finn = bed.person();
    const id = await finn.say('hello', { to: bed.phone });
    await finn.nextReply();
    const secret = Buffer.from(finn.secretOf(id));
    const shown =
      JSON.stringify(await bed.service.api('GET', '/api/messages?limit=100')) + bed.service.output;
    for (const form of ['hex', 'base64'] as const) expect(shown).not.toContain(secret.toString(form));
    expect(shown).not.toContain('messageSecret');
  });
});
