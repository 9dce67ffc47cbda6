import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

describe('a command of a person', () => {
  it('/new begins a new session; the first has the id of the contract', async () => {
    const agent = await bed.anotherAgent(['--reply', '{session}', '--max', '0']);
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, agent.url);
    const say = async (text: string) => {
      await ana.say(text, { to: bed.phone });
      return (await ana.nextReply()).text;
    };
    const first = `${ana.phone}_${ana.phone}`;
    expect(await say('one')).toBe(first);
    expect(await say('/new')).toBe('Empieza una conversación nueva.');
    expect(await say('two')).toBe(`${first}_2`);
    expect(await say(' /Reset ')).toBe('Empieza una conversación nueva.');
    expect(await say('three')).toBe(`${first}_3`);
    expect(await say('/status')).toMatch(
      /^Estoy aquí y respondo a tus mensajes\. Esta conversación empezó el /,
    );
    expect(await say('/unknown')).toBe(`${first}_3`);
  });

  it('/new in a group begins a new session everywhere, where a person has one in all chats, also after a crash', async () => {
    const agent = await bed.anotherAgent(['--reply', '{session}', '--max', '0']);
    const [fay, gus] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'All', members: [fay, gus, bed.phone] });
    const config = { session: { scope: 'person' } };
    for (const chat of [fay.phone, gus.phone, group.jid])
      await bed.service.addRoute(chat, agent.url, { config });
    const say = async (person: Person, text: string, to: { pn: string } | { jid: string }) => {
      const count = person.received.length;
      await person.say(text, { to });
      return (await person.waitForReceived(count + 1))[count]?.text;
    };
    const own = `${fay.phone}_${fay.phone}`;
    expect(await say(fay, 'one', bed.phone)).toBe(own);
    expect(await say(fay, 'two', group)).toBe(own);
    expect(await say(fay, '/new', group)).toBe('Empieza una conversación nueva.');
    await bed.service.end('SIGKILL');
    await bed.restartService();
    expect(await say(fay, 'three', bed.phone)).toBe(`${own}_2`);
    expect(await say(fay, 'four', group)).toBe(`${own}_2`);
    expect(await say(gus, 'one', bed.phone)).toBe(`${gus.phone}_${gus.phone}`);
  });

  it('is answered in the words of the route, and addresses the person as the route says', async () => {
    const bo = bed.person({ phone: '4930777000458' });
    const texts = { formOfAddress: 'formal', own: { 'de.new': 'Worum geht es jetzt?' } };
    await bed.service.addRoute(bo.phone, bed.agent.url, { config: { texts } });
    await bo.say('/new', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('Worum geht es jetzt?');
    await bo.say('/status', { to: bed.phone });
    expect((await bo.nextReply()).text).toMatch(/^Ich bin da und beantworte Ihre Nachrichten\./);
  });

  it('/help lists the commands that are on, in the language of the person', async () => {
    const bo = bed.person({ phone: '4930777000456' });
    await bed.service.addRoute(bo.phone, bed.agent.url, { config: { commands: { stop: false } } });
    await bo.say('/help', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe(
      'Du kannst schreiben:\n- /new: ein neues Gespräch beginnen\n- /status: den Stand dieses Gesprächs zeigen\n- /help: diese Hilfe zeigen',
    );
  });

  it('/stop ends the call of the agent, and its answer never comes', async () => {
    const slow = await bed.anotherAgent(['--mode', 'hang']);
    const cleo = bed.person();
    await bed.service.addRoute(cleo.phone, slow.url);
    const id = await cleo.say('think for ever', { to: bed.phone });
    await cleo.waitForPresence('composing');
    await cleo.say('/stop', { to: bed.phone });
    expect((await cleo.nextReply()).text).toBe('De acuerdo, lo dejo aquí.');
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'stopped-by-person' });
    expect(cleo.received).toHaveLength(1);
  });

  it('goes to the agent when the settings say so', async () => {
    const dan = bed.person();
    await bed.service.addRoute(dan.phone, bed.agent.url, { config: { commands: { new: false } } });
    await dan.say('/new', { to: bed.phone });
    expect((await dan.nextReply()).text).toBe('Echo: /new');
  });

  it('is not needed to learn of a limit of messages: one notice per window', async () => {
    const eva = bed.person();
    await bed.service.addRoute(eva.phone, bed.agent.url, {
      config: { quota: { messages: 2, perMinutes: 5, text: 'Enough for now.' } },
    });
    const ids: string[] = [];
    for (const text of ['1', '2', '3', '4']) ids.push(await eva.say(text, { to: bed.phone }));
    for (const id of ids) await bed.untilTurnEnded(id);
    const texts = (await eva.waitForReceived(3)).map(({ text }) => text);
    expect(texts).toEqual(['Echo: 1', 'Echo: 2', 'Enough for now.']);
    expect(await bed.message(ids[3] ?? '')).toMatchObject({ state: 'ignored', reason: 'quota-exceeded' });
  });
});
