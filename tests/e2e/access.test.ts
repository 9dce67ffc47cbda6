import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

/** Not shared: a late message of another file's person would be one of the few strangers that the owner is asked about. */
let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});
afterAll(() => bed?.close());
beforeEach(async () => {
  await bed.converse({ access: { people: 'approved' } });
});

interface Chat {
  id: string;
  access?: string;
}

/** The chat with this person, as the API shows it. */
async function chatOf({ phone }: Person): Promise<Chat> {
  const { body } = await bed.service.api('GET', `/api/chats?channelId=${phone}`);
  const [chat] = body.data as Chat[];
  if (!chat) throw new Error('there is no such chat');
  return chat;
}

/** What the owner was asked about the chat, in the "message yourself" chat. */
const questionsAbout = (id: string) =>
  bed.phone.copies.map(({ text }) => text ?? '').filter((text) => text.includes(`#approve ${id}\n`));

const untilAsked = (id: string) =>
  until(`the owner is asked about chat ${id}`, async () => questionsAbout(id)[0]);

/** The texts that the person got, as soon as there are so many. */
const heard = async (person: Person, count: number) =>
  (await person.waitForReceived(count)).map(({ text }) => text);

describe('a stranger', () => {
  it('who is approved after a crash gets answers in order, and the owner is asked once', async () => {
    const ana = bed.person({ name: 'Ana' });
    const ids = [await ana.say('first', { to: bed.phone })];
    expect(await bed.untilTurnEnded(ids[0] ?? '')).toMatchObject({
      state: 'ignored',
      reason: 'access-pending',
    });
    const { id, access } = await chatOf(ana);
    expect(access).toBe('pending');
    expect(await untilAsked(id)).toContain(`Ana (+${ana.phone})`);
    expect(await untilAsked(id)).toContain('"first"');
    ids.push(await ana.say('second', { to: bed.phone }));
    expect(await bed.untilTurnEnded(ids[1] ?? '')).toMatchObject({
      reason: 'access-pending',
      text: 'second',
    });
    await bed.service.end('SIGKILL');
    await bed.restartService();
    ids.push(await ana.say('third', { to: bed.phone }));
    expect(await bed.untilTurnEnded(ids[2] ?? '')).toMatchObject({ reason: 'access-pending' });
    expect(ana.received).toHaveLength(0);

    const approved = await bed.service.api('POST', `/api/chats/${id}/approve`);
    expect(approved).toMatchObject({ status: 200, body: { data: { access: 'approved' } } });
    expect(await heard(ana, 3)).toEqual(['Echo: first', 'Echo: second', 'Echo: third']);
    await ana.say('fourth', { to: bed.phone });
    expect((await heard(ana, 4))[3]).toBe('Echo: fourth');
    expect(questionsAbout(id)).toHaveLength(1);
  });

  it('is approved and refused by the owner on the phone', async () => {
    const [bo, cleo] = [bed.person({ name: 'Bo' }), bed.person({ name: 'Cleo' })];
    await bo.say('hello', { to: bed.phone });
    const question = await bo.say('anybody?', { to: bed.phone });
    await bed.untilTurnEnded(question);
    const chat = await chatOf(bo);
    await untilAsked(chat.id);
    await bed.phone.say(`#approve ${chat.id}`, { to: bed.phone });
    expect(await heard(bo, 2)).toEqual(['Echo: hello', 'Echo: anybody?']);
    await until('the owner is answered', async () =>
      bed.phone.copies.some(({ text }) => text === 'Aprobado: Bo.') ? true : undefined,
    );

    const ignored = await cleo.say('buy this', { to: bed.phone });
    expect(await bed.untilTurnEnded(ignored)).toMatchObject({ reason: 'access-pending' });
    const { id } = await chatOf(cleo);
    await bed.phone.say(`#refuse ${id}`, { to: bed.phone });
    await until('the chat is refused', async () =>
      (await chatOf(cleo)).access === 'refused' ? true : undefined,
    );
    const again = await cleo.say('really', { to: bed.phone });
    expect(await bed.untilTurnEnded(again)).toMatchObject({ state: 'ignored', reason: 'access-refused' });
    expect(cleo.received).toHaveLength(0);
  });

  it('is the fourth in an hour: the owner is not asked, and can still approve', async () => {
    const dan = bed.person();
    const id = await dan.say('hello', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'access-over-limit' });
    const chat = await chatOf(dan);
    expect(chat.access).toBeUndefined();
    await bed.service.api('POST', `/api/chats/${chat.id}/approve`);
    expect(await heard(dan, 1)).toEqual(['Echo: hello']);
    expect(questionsAbout(chat.id)).toEqual([]);
  });

  it('who is not listed gets no answer', async () => {
    const [eva, fay] = [bed.person(), bed.person()];
    await bed.converse({ access: { people: 'listed', list: [`+${eva.phone}`] } });
    await eva.say('hello', { to: bed.phone });
    const id = await fay.say('hello', { to: bed.phone });
    expect(await heard(eva, 1)).toEqual(['Echo: hello']);
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'access-not-listed' });
    expect(fay.received).toHaveLength(0);
  });
});
