import { beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { GroupInfo } from '../whatsapp-emulator/actors.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { mentioningText } from '../whatsapp-emulator/message-content.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

/** A route for every chat with its defaults: in groups, mentions are answered. */
beforeAll(async () => {
  await bed.routeAll();
  await bed.converse({});
});

/** A group of ten: nine people and the account. */
function groupOfTen(addressing: 'lid' | 'pn'): { group: GroupInfo; people: Person[] } {
  const people = Array.from({ length: 9 }, (_, index) => bed.person({ name: `Member ${index}` }));
  const group = createGroup(bed.emulator, { subject: 'Ten', addressing, members: [...people, bed.phone] });
  return { group, people };
}

const mention = (text: string, jid: string) => mentioningText(`@${jid.split('@')[0]} ${text}`, [jid]);

describe('a group of which wa2ai has heard nothing', () => {
  it('is shown by its name after its first message, also when nobody answers it', async () => {
    const ana = bed.person();
    const group = createGroup(bed.emulator, { subject: 'Tennis on Sunday', members: [ana, bed.phone] });
    const id = await ana.say('who plays?', { to: group });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'group-not-addressed' });
    const shown = async () =>
      (await bed.service.api('GET', `/api/chats?channelId=${group.jid}`)).body.data as Array<{
        name?: string;
      }>;
    await expect.poll(shown).toMatchObject([{ name: 'Tennis on Sunday' }]);
  });
});

describe('a group of ten without a route for the group', () => {
  it.each(['lid', 'pn'] as const)(
    'is answered only when the account is mentioned (%s addressing)',
    async (addressing) => {
      const { group, people } = groupOfTen(addressing);
      const [ana, bo, cleo] = people as [Person, Person, Person];
      const unanswered = [
        await ana.say('who comes tonight?', { to: group }),
        await bo.say(mention('you?', cleo.pn), { to: group }),
        await cleo.say('me', { to: group }),
      ];
      const jid = addressing === 'lid' ? bed.phone.lid : bed.phone.pn;
      const asked = await ana.say(mention('who comes?', jid), { to: group });
      const answer = await bo.nextReply();
      expect(answer.text).toContain('Echo: Earlier messages in this chat');
      expect(answer.text).toContain(`"Member 0": who comes tonight?`);
      expect(answer.text).toContain('"Member 2": me');
      expect(answer.text).toMatch(/@\d+ who comes\?$/);
      const { contextInfo } = answer.message.extendedTextMessage ?? {};
      expect(contextInfo).toMatchObject({ stanzaId: asked, mentionedJid: [ana.pn] });
      for (const id of unanswered) {
        expect(await bed.untilTurnEnded(id)).toMatchObject({
          state: 'ignored',
          reason: 'group-not-addressed',
        });
      }
      for (const person of people.slice(1)) expect(await person.waitForReceived(1)).toHaveLength(1);
    },
  );

  it('is answered to a reply to one of our messages, without what was said before the last answer', async () => {
    const { group, people } = groupOfTen('lid');
    const [dan, eva] = people as [Person, Person];
    await dan.say('small talk', { to: group });
    await dan.say(mention('hello', bed.phone.lid), { to: group });
    const first = await eva.nextReply();
    await eva.say('so what', { to: group });
    await eva.say('and tomorrow?', {
      to: group,
      quoted: { id: first.id, author: bed.phone.lid, text: first.text },
    });
    expect((await eva.nextReply()).text).toBe(
      'Echo: Earlier messages in this chat, for information:\n"Member 1": so what\n\nand tomorrow?',
    );
  });

  it('tells the agent who joined and left since the last answer', async () => {
    const { group, people } = groupOfTen('lid');
    const [hal, ida, kim] = people as [Person, Person, Person];
    const joe = bed.person({ name: 'Joe' });
    await ida.say('good morning', { to: group });
    await hal.say(mention('hello', bed.phone.lid), { to: group });
    await kim.nextReply();
    bed.emulator.changeGroup(group, hal, 'add', [joe]);
    bed.emulator.changeGroup(group, ida, 'remove', [ida]);
    await bed.emulator.waitUntilSettled(bed.emulator.linkedDevices(bed.phone.pn)[0]?.pn ?? '');
    await hal.say(mention('who is here?', bed.phone.lid), { to: group });
    const answer = await kim.nextReply();
    expect(answer.text).toContain(`"Member 0": added +${joe.phone}`);
    expect(answer.text).toContain('"Member 1": left the group');
  });

  it('is answered to a pattern of the settings, and not at all when they say never', async () => {
    const { group, people } = groupOfTen('lid');
    const [fay, gil] = people as [Person, Person];
    const put = (settings: unknown) =>
      bed.service.api('PUT', '/api/settings/conversation', { group: settings });
    await put({ patterns: ['^robot'], contextMessages: 0 });
    await fay.say('ignored', { to: group });
    await fay.say('robot, hello', { to: group });
    expect((await gil.nextReply()).text).toBe('Echo: robot, hello');
    await put({ answer: 'never' });
    const id = await fay.say(mention('robot, hello', bed.phone.lid), { to: group });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'group-never' });
    expect(gil.received).toHaveLength(1);
    await bed.service.api('PUT', '/api/settings/conversation', {});
  });
});

it('answers every message of a group with a route for the group', async () => {
  const { group, people } = groupOfTen('lid');
  const [hana, ian] = people as [Person, Person];
  await bed.service.addRoute(group.jid, bed.agent.url);
  await hana.say('anybody?', { to: group });
  expect((await ian.nextReply()).text).toBe('Echo: anybody?');
});
