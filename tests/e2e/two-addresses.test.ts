import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pairByQr } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

/** Without a route: nothing is answered, so no query for a LID joins the addresses before the test does. */
beforeAll(async () => {
  bed = await TestBed.start();
  const service = await bed.startService();
  await pairByQr(service, bed.phone, bed.emulator);
});

afterAll(async () => {
  await bed.close();
});

const retries = (person: Person) => person.receipts.filter(({ type }) => type === 'retry').length;
const groupRoute = { config: { group: { answer: 'always' } } };

/** A person whose phone has a session for each address, of the time when no stanza named both. */
async function withTwoSessions(): Promise<Person> {
  const person = bed.person({ hidden: 'lid' });
  const first = await person.say('by number', { to: bed.phone });
  await bed.untilTurnEnded(first);
  person.moveTo('lid', 'pn');
  const second = await person.say('by LID', { to: bed.phone, session: 'lid' });
  await bed.untilTurnEnded(second);
  return person;
}

describe('a person whom WhatsApp moves to another address in the middle of a conversation', () => {
  it.each([
    ['number', 'LID', 'lid', 'pn'],
    ['LID', 'number', 'pn', 'lid'],
  ] as const)(
    'is read and answered without a retry request: %s to %s',
    async (_from, _to, address, session) => {
      const person = await withTwoSessions();
      const { id } = await bed.service.addRoute(person.phone, bed.agent.url);
      person.moveTo(address);
      await person.say('after the move', { to: bed.phone, session });
      expect((await person.nextReply()).text).toBe('Echo: after the move');
      await bed.service.end('SIGKILL');
      await bed.restartService();
      for (const [text, of] of [
        ['with the other session', session === 'pn' ? 'lid' : 'pn'],
        ['and with this one', session],
      ] as const) {
        await person.say(text, { to: bed.phone, session: of });
        expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
      }
      expect(retries(person)).toBe(0);
      await bed.service.api('DELETE', `/api/routes/${id}`);
    },
  );

  it.each([
    ['numbers', 'LIDs', 'pn', 'lid'],
    ['LIDs', 'numbers', 'lid', 'pn'],
  ] as const)('is read in a group that changes from %s to %s', async (_from, _to, before, after) => {
    const [ana, bo] = [bed.person({ via: before }), bed.person()];
    const options = { subject: 'Moved', members: [ana, bo, bed.phone] };
    const group = createGroup(bed.emulator, { ...options, addressing: before });
    await bed.service.addRoute(group.jid, bed.agent.url, groupRoute);
    await ana.say('before', { to: group });
    expect((await bo.nextReply()).text).toBe('Echo: before');
    createGroup(bed.emulator, { ...options, addressing: after, jid: group.jid });
    for (const text of ['after', 'and once more']) {
      await ana.say(text, { to: group });
      expect((await bo.nextReply()).text).toBe(`Echo: ${text}`);
    }
    expect(retries(ana)).toBe(0);
  });
});

describe('a person with a user name and no number', () => {
  const list = async (path: string) => (await bed.service.api('GET', path)).body.data;

  it('is answered by the route of the name, and shown by it', async () => {
    const ana = bed.person({ hidden: 'pn', via: 'lid', username: 'Ana.B' });
    await bed.service.addRoute('@ANA.b', bed.agent.url);
    const id = await ana.say('hello', { to: bed.phone, attrs: { notify: '' } });
    expect((await ana.nextReply()).text).toBe('Echo: hello');
    expect(retries(ana)).toBe(0);
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ channelId: ana.lid, from: ana.lid, pushName: '@ana.b', state: 'answered' });
    const chats = await list('/api/chats?channelId=%40Ana.B');
    expect(chats).toMatchObject([{ channelId: ana.lid, username: 'ana.b', name: '@ana.b' }]);
    expect(await list('/api/messages?channelId=%40ana.b')).not.toHaveLength(0);
    expect(JSON.stringify([row, chats])).not.toContain('undefined');
    expect(await list(`/api/routes/%40ana.b`)).toMatchObject({ channelId: '@ana.b' });
  });

  it('gets messages of programs', async () => {
    const bo = bed.person({ hidden: 'pn', via: 'lid', username: 'bo_1' });
    await bed.untilTurnEnded(await bo.say('hi', { to: bed.phone }));
    const sent = await bed.service.api('POST', '/api/messages', { to: bo.lid, text: 'news' });
    expect(sent.status).toBe(202);
    expect((await bo.nextReply()).text).toBe('news');
    const refused = await bed.service.api('POST', '/api/messages', { to: '@bo_1', text: 'news' });
    expect(refused.status).toBe(400);
  });

  it('loses the name to the person who has it later', async () => {
    const [first, second] = [1, 2].map(() => bed.person({ hidden: 'pn', via: 'lid', username: 'wanted' }));
    for (const person of [first, second]) {
      await bed.untilTurnEnded((await person?.say('mine', { to: bed.phone })) ?? '');
    }
    expect(await list('/api/chats?channelId=%40wanted')).toMatchObject([{ channelId: second?.lid }]);
  });

  it('is named in a group', async () => {
    const [cleo, dan] = [bed.person({ hidden: 'pn', username: 'cleo' }), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Names', members: [cleo, dan, bed.phone] });
    await bed.service.addRoute(group.jid, bed.agent.url, groupRoute);
    const id = await cleo.say('hello', { to: group, attrs: { notify: '' } });
    expect((await dan.nextReply()).text).toBe('Echo: hello');
    expect(await bed.untilTurnEnded(id)).toMatchObject({ from: cleo.lid, pushName: '@cleo' });
  });
});
