import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { revocation } from '../whatsapp-emulator/message-content.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
});

/** A person whose chat has these settings. */
async function someone(config: Record<string, unknown>, agent = bed.agent): Promise<Person> {
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config });
  return person;
}

/** Messages written one after the other; their WhatsApp ids. */
async function write(person: Person, ...texts: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) ids.push(await person.say(text, { to: bed.phone }));
  return ids;
}

/** Resolves when the message is stored. */
const untilStored = (waMessageId: string) =>
  bed.service.untilLog((line) => line.msg === 'message received' && line.waMessageId === waMessageId);

const texts = (person: Person) => person.received.map(({ text }) => text);

/** What the person got, when everything that was written before has its answer or gets none. */
async function untilAnswered(person: Person): Promise<Array<string | undefined>> {
  const isMark = (text: string | undefined) => text?.startsWith('Estoy aquí') ?? false;
  await write(person, '/status');
  while (!texts(person).some(isMark)) await person.waitForReceived(person.received.length + 1);
  return texts(person).filter((text) => !isMark(text));
}

describe('lines that a person writes in a row', () => {
  it('become one question: five lines in two seconds', async () => {
    const ana = await someone({ pace: { debounceMs: 2_000 } });
    const ids = await write(ana, 'hola', 'tengo', 'una pregunta', 'sobre', 'mi pedido');
    expect((await ana.nextReply()).text).toBe('Echo: hola\ntengo\nuna pregunta\nsobre\nmi pedido');
    const rows = await Promise.all(ids.map((id) => bed.untilTurnEnded(id)));
    expect(rows.map(({ state, reason }) => [state, reason ?? undefined])).toEqual([
      ...Array(4).fill(['ignored', 'merged']),
      ['answered', undefined],
    ]);
    expect(rows[0]?.trace).toMatchObject([{ step: 'pace', messageId: rows[4]?.id }]);
    expect(await untilAnswered(ana)).toHaveLength(1);
  });

  it('end with a command, which is answered at once', async () => {
    const bo = await someone({ pace: { debounceMs: 60_000, maxWaitMs: 60_000 } });
    await write(bo, 'uno', 'dos', '/status');
    expect(await bo.waitForReceived(2)).toMatchObject([
      { text: 'Echo: uno\ndos' },
      { text: 'Estoy aquí y respondo a tus mensajes.' },
    ]);
  });

  it('are one question after a kill -9 between them, in their order', async () => {
    const cleo = await someone({ pace: { debounceMs: 3_000 } });
    const [first = ''] = await write(cleo, 'before');
    await untilStored(first);
    await bed.service.end('SIGKILL');
    await write(cleo, 'while it was down');
    await bed.restartService();
    await write(cleo, 'after');
    await cleo.waitForReceived(1);
    const all = (await untilAnswered(cleo)).map((text) => text?.replace(/^Echo: /, '')).join('\n');
    expect(all).toBe('before\nwhile it was down\nafter');
  });
});

describe('what a person writes while the agent works', () => {
  it('ends its call with `interrupt`, also over a kill -9: one answer to all', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '3000']);
    const dan = await someone({ pace: { busy: 'interrupt' } }, slow);
    await write(dan, 'one');
    await dan.waitForPresence('composing');
    const [second = ''] = await write(dan, 'two');
    await bed.service.untilLog(({ msg }) => msg === 'turn interrupted, starting it again');
    expect(await bed.message(second)).toMatchObject({ state: 'received' });
    await bed.service.end('SIGKILL');
    await bed.restartService();
    expect((await dan.nextReply()).text).toBe('Echo: one\ntwo');
    expect(await untilAnswered(dan)).toEqual(['Echo: one\ntwo']);
  });

  it('becomes one question with `merge`', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '1500']);
    const eva = await someone({ pace: { busy: 'merge' } }, slow);
    await write(eva, 'one');
    await eva.waitForPresence('composing');
    await write(eva, 'two', 'three');
    expect((await eva.waitForReceived(2)).map(({ text }) => text)).toEqual(['Echo: one', 'Echo: two\nthree']);
  });
});

describe('a message that its author edits', () => {
  it('before its turn is answered by its new text', async () => {
    const finn = await someone({ pace: { debounceMs: 2_000 } });
    const [id = ''] = await write(finn, 'tomorow');
    await finn.edit(id, 'tomorrow', { to: bed.phone });
    expect((await finn.nextReply()).text).toBe('Echo: tomorrow');
    expect(await untilAnswered(finn)).toEqual(['Echo: tomorrow']);
  });

  it('during its turn is asked again, and answered once', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '2000']);
    const gil = await someone({}, slow);
    const [id = ''] = await write(gil, 'tomorow');
    await gil.waitForPresence('composing');
    await gil.edit(id, 'tomorrow', { to: bed.phone });
    expect((await gil.nextReply()).text).toBe('Echo: tomorrow');
    expect(await untilAnswered(gil)).toEqual(['Echo: tomorrow']);
  });

  it('after its answer is answered as an edit', async () => {
    const hana = await someone({});
    const [id = ''] = await write(hana, 'tomorow');
    await hana.nextReply();
    await hana.edit(id, 'tomorrow', { to: bed.phone });
    expect((await hana.waitForReceived(2))[1]?.text).toBe('Echo: tomorrow');
  });

  it('is answered by its first text with `ignore`', async () => {
    const ivo = await someone({ edits: 'ignore', pace: { debounceMs: 1_500 } });
    const [id = ''] = await write(ivo, 'first');
    const edit = await ivo.edit(id, 'second', { to: bed.phone });
    expect((await ivo.nextReply()).text).toBe('Echo: first');
    expect(await bed.untilTurnEnded(edit)).toMatchObject({ state: 'ignored', reason: 'edit-ignored' });
  });
});

describe('a message that is deleted', () => {
  it('by its author before its turn is not part of the question', async () => {
    const jan = await someone({ pace: { debounceMs: 2_000 } });
    const [, id = ''] = await write(jan, 'keep', 'oops');
    await jan.say(revocation(id), { to: bed.phone });
    expect((await jan.nextReply()).text).toBe('Echo: keep');
    expect(await bed.message(id)).toMatchObject({ state: 'ignored', reason: 'deleted-by-author' });
  });

  it('by its author during its turn gets no answer', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '2000']);
    const kim = await someone({}, slow);
    const [id = ''] = await write(kim, 'oops');
    await kim.waitForPresence('composing');
    await kim.say(revocation(id), { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ reason: 'deleted-by-author' });
    await write(kim, 'next');
    expect((await kim.nextReply()).text).toBe('Echo: next');
    expect(texts(kim)).toEqual(['Echo: next']);
  });

  it('by its author after its answer keeps the answer, and says nothing', async () => {
    const mia = await someone({});
    const [id = ''] = await write(mia, 'oops');
    await mia.nextReply();
    const deletion = await mia.say(revocation(id), { to: bed.phone });
    expect(await bed.untilTurnEnded(deletion)).toMatchObject({ state: 'ignored' });
    expect(await bed.message(id)).toMatchObject({ state: 'answered' });
    await write(mia, 'next');
    expect((await mia.waitForReceived(2)).map(({ text }) => text)).toEqual(['Echo: oops', 'Echo: next']);
  });

  it('by another member of the group is answered', async () => {
    const [lea, admin] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Pace', members: [lea, admin, bed.phone] });
    const slow = await bed.anotherAgent(['--delay-ms', '1500']);
    await bed.service.addRoute(group.jid, slow.url, { config: {} });
    const id = await lea.say('stays', { to: group });
    await lea.waitForPresence('composing');
    await admin.say(revocation(id, group.jid), { to: group });
    expect((await lea.nextReply()).text).toBe('Echo: stays');
  });
});
