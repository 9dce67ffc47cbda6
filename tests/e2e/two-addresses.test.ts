import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../router/src/cli/run-cli.ts';
import { hostOf, runWa2ai } from '../support/cli.ts';
import { mcpOverHttp, toolData } from '../support/mcp-client.ts';
import { pairByQr } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
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
  it('is read and answered without a retry request, also after a crash: number to LID, and LID to number', async () => {
    const moves = [
      { to: 'lid', session: 'pn', other: 'lid', person: await withTwoSessions() },
      { to: 'pn', session: 'lid', other: 'pn', person: await withTwoSessions() },
    ] as const;
    const routes: string[] = [];
    for (const { person, to, session } of moves) {
      routes.push((await bed.service.addRoute(person.phone, bed.agent.url)).id);
      person.moveTo(to);
      await person.say('after the move', { to: bed.phone, session });
      expect((await person.nextReply()).text).toBe('Echo: after the move');
    }
    await bed.service.end('SIGKILL');
    await bed.restartService();
    for (const { person, session, other } of moves) {
      for (const [text, of] of [
        ['with the other session', other],
        ['and with this one', session],
      ] as const) {
        await person.say(text, { to: bed.phone, session: of });
        expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
      }
      expect(retries(person)).toBe(0);
    }
    for (const id of routes) await bed.service.api('DELETE', `/api/routes/${id}`);
  });

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

  it('is shown by the name by the command line, webhooks, MCP and exports, also in what was sent and in dead letters', async () => {
    const receiver = await WebhookReceiver.start();
    const events = ['message', 'reply', 'delivery', 'dead-letter'];
    const webhook = { url: receiver.url, events, secret: WebhookReceiver.SECRET };
    const added = (await bed.service.api('POST', '/api/webhooks', webhook)).body.data as { id: string };
    const mcp = await mcpOverHttp(bed.service.url, { version: '2025-11-25' });
    try {
      const eva = bed.person({ hidden: 'pn', via: 'lid', username: 'Eva_2' });
      await bed.service.addRoute('@eva_2', `${bed.agent.url}/missing`);
      const id = await eva.say('to nobody', { to: bed.phone, attrs: { notify: '' } });
      const { chatId } = await bed.untilTurnEnded(id);
      await bed.service.api('POST', '/api/messages', { channelId: eva.lid, text: 'news' });
      await expect.poll(() => eva.received.map(({ text }) => text)).toContain('news');

      // Receipts of other chats may come late.
      const taken = () => receiver.taken.filter(({ body }) => body.channelId === eva.lid);
      const bodiesOf = (name: string) => taken().filter(({ body }) => body.event === name);
      await expect
        .poll(() => events.filter((name) => bodiesOf(name).length === 0), { timeout: 30_000 })
        .toEqual([]);
      for (const { body } of taken()) expect(body).toMatchObject({ username: 'eva_2' });
      expect(bodiesOf('message')).toMatchObject([{ body: { name: '@eva_2' } }]);

      const wa2ai = async (...args: string[]) =>
        (await runWa2ai(['--url', bed.service.url, ...args])).output.split('\n');
      const lineWith = async (text: string, ...args: string[]) =>
        (await wa2ai(...args)).find((line) => line.includes(text));
      expect(await lineWith('@eva_2', 'chats', 'list')).toMatch(/@eva_2 +@eva_2/);
      for (const text of ['to nobody', 'news']) {
        expect(await lineWith(text, 'messages', '--chat', '@eva_2')).toContain(' @eva_2 ');
      }
      expect(await lineWith('to nobody', 'dead-letters', 'list')).toContain(' @eva_2 ');
      const [chat, ...messages] = (await wa2ai('chats', 'export', '@eva_2'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
      expect(chat).toMatchObject({ type: 'chat', name: '@eva_2', username: 'eva_2' });
      for (const each of messages.slice(0, -1)) expect(each).toMatchObject({ username: 'eva_2' });

      const end = new AbortController();
      const { host, written } = hostOf({ signal: end.signal });
      const following = runCli(['--url', bed.service.url, 'messages', '--follow', '--chat', '@eva_2'], host);
      await expect.poll(() => written.output, { timeout: 30_000 }).toContain('news');
      end.abort();
      await following;
      expect(written.output).toMatch(/ @eva_2 {2}< to nobody\n[\s\S]* @eva_2 {2}> news\n/);

      const named = { username: 'eva_2' };
      expect((await toolData(mcp, 'list_chats', { channel: '@eva_2' })).chats).toMatchObject([
        { ...named, name: '@eva_2' },
      ]);
      const read = await toolData(mcp, 'get_chat_messages', { chat: chatId });
      for (const message of read.messages) expect(message).toMatchObject(named);
      const dead = await toolData(mcp, 'list_dead_letters', { channel: '@eva_2' });
      expect(dead.deadLetters).toMatchObject([{ ...named, pushName: '@eva_2' }]);
      const { resources } = await mcp.listResources();
      expect(resources).toContainEqual(expect.objectContaining({ title: 'Chat @eva_2' }));
      expect(JSON.stringify([receiver.taken, written, read, dead])).not.toContain('undefined');
    } finally {
      await bed.service.api('DELETE', `/api/webhooks/${added.id}`);
      await receiver.stop();
    }
  });

  it('gets messages of programs', async () => {
    const bo = bed.person({ hidden: 'pn', via: 'lid', username: 'bo_1' });
    await bed.untilTurnEnded(await bo.say('hi', { to: bed.phone }));
    const sent = await bed.service.api('POST', '/api/messages', { channelId: bo.lid, text: 'news' });
    expect(sent.status).toBe(202);
    expect((await bo.nextReply()).text).toBe('news');
    const refused = await bed.service.api('POST', '/api/messages', { channelId: '@bo_1', text: 'news' });
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
