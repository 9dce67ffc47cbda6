import { describe, expect, it } from 'vitest';
import type { SentMessageRow } from '../../../../router/src/core/ports/message-log.ts';
import { aMessage, aPerson } from '../../../contracts/adapters.ts';
import { aSentMessage } from '../../../doubles/fake-message-log.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { serverOf } from '../../../support/abi.ts';
import { runWa2ai } from '../../../support/cli.ts';
import { httpApi } from '../../../support/http-api.ts';

const api = httpApi();

const wa2ai = (...args: string[]) => runWa2ai([...args, '--url', api.url], { nowMs: api.clock.nowMs });

describe('wa2ai send --wait', () => {
  const send = (...args: string[]) => wa2ai('send', '+5493777239922', 'hi', '--wait', ...args);
  /** Each message that was sent is in this state. */
  const becomes = (state: SentMessageRow['state'], more: Partial<SentMessageRow> = {}) => {
    api.messageLog.sentMessage = async (id) => aSentMessage({ id, state, ...more });
  };

  it('ends with the state that was waited for', async () => {
    becomes('delivered');
    expect(await send()).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Message \d+ is delivered\.\n$/),
    });
    becomes('read');
    expect((await send('acked')).output).toMatch(/is read\.\n$/);
  });

  it('ends with 1 when the message is dead', async () => {
    becomes('dead', { error: 'WhatsApp refused it.' });
    expect(await send('read')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^Message \d+ is dead\. WhatsApp refused it\.\n$/),
    });
  });
});

describe('wa2ai send --wait with a key that may only send', () => {
  it('says that the message is queued', async () => {
    const key = await api.addKey({ scopes: ['messages:send'] });
    const env = { WA2AI_API_KEY: key };
    const args = ['send', '+5493777239922', 'hi', '--wait', '--url', api.url];
    expect(await runWa2ai(args, { env })).toMatchObject({
      code: 4,
      errors: expect.stringMatching(/^wa2ai: Message \d+ is queued, and its state cannot be read\. /),
    });
  });
});

describe('wa2ai send --delete', () => {
  it('asks before a message is deleted for everyone', async () => {
    const words = ['send', '+5493777239922', '--delete', '4712', '--url', api.url];
    expect(await runWa2ai(words)).toMatchObject({ code: 2, errors: expect.stringContaining('add --yes') });
    expect(await runWa2ai(words, { answer: 'n' })).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^Message 4712 will be deleted for everyone.*Nothing was changed\.\n$/),
    });
    // It gets as far as the service, which knows no such message.
    expect((await runWa2ai(words, { answer: 'y' })).errors).toMatch(
      /wa2ai: The field "delete" is not the id of a message sent to the chat\.\n$/,
    );
  });
});

describe('wa2ai chats list', () => {
  it('shows the chats of a route, by its name, and those that need an operator', async () => {
    const asked: string[] = [];
    const { url } = await serverOf((request, response) => {
      const { pathname, search } = new URL(request.url ?? '', 'http://service');
      if (pathname === '/api/chats') asked.push(search);
      const chat = { id: '7', channelId: '5493777239922', name: 'Ana', needs: ['draft', 'failed'] };
      const data = pathname === '/api/chats' ? [chat] : [{ id: '01a214f1-f071', name: 'VIP desk' }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ success: true, data }));
    });
    const { output } = await runWa2ai(['chats', 'list', '--route', 'vip desk', '--needs', '--url', url]);
    expect(asked).toEqual(['?routeId=01a214f1-f071&needsYou=true']);
    expect(output).toContain('draft, failed');
  });
});

describe('wa2ai messages', () => {
  it('names the chat of each message, also of one sent and of a group', async () => {
    const asked: string[] = [];
    const { url } = await serverOf((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://service');
      if (pathname !== '/api/messages') asked.push(pathname);
      const person = { chatId: '7', channelId: '5493777239922' };
      const group = { chatId: '8', channelId: '12036304@g.us' };
      const rows = [
        { id: '5', ...group, direction: 'outgoing', state: 'read' },
        { id: '4', ...group, direction: 'incoming', state: 'answered', pushName: 'Bo' },
        { id: '3', ...person, direction: 'outgoing', state: 'read' },
        {
          id: '2',
          ...person,
          direction: 'incoming',
          state: 'ignored',
          reason: 'owner-message',
          pushName: 'Me',
        },
        { id: '1', ...person, direction: 'incoming', state: 'answered', pushName: 'Ana' },
      ];
      const at = '2026-01-31T12:00:00.000Z';
      const data =
        pathname === '/api/messages'
          ? rows.map((row) => ({ ...row, receivedAt: at }))
          : { id: '8', name: 'Family' };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ success: true, data }));
    });
    const { output } = await runWa2ai(['messages', '--url', url]);
    const names = output
      .trim()
      .split('\n')
      .map((row) => row.split(/ {2,}/)[3]);
    expect(names).toEqual(['NAME', 'Family', 'Family (Bo)', 'Ana', 'Ana', 'Ana']);
    expect(asked).toEqual(['/api/chats/8']);
  });
});

describe('the name of a chat', () => {
  it('is looked for also behind pages without it', async () => {
    const { url } = await serverOf((request, response) => {
      const path = new URL(request.url ?? '', 'http://service');
      const chat = { id: '7', channelId: '5493777239922', name: 'Ana' };
      const pages = path.searchParams.has('cursor') ? { data: [chat] } : { data: [], next: 'c1' };
      const body = path.pathname === '/api/chats' ? pages : { data: { ...chat, seen: path.pathname } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ success: true, ...body }));
    });
    const { output } = await runWa2ai(['chats', 'show', 'ana', '--url', url]);
    expect(output).toContain('seen: /api/chats/7\n');
  });

  it('stands for the chat, unless several have it', async () => {
    const inbox = new MemoryInbox(api.state);
    const add = async (pushName: string) => {
      const person = aPerson();
      const { chatId } = await inbox.add(
        aMessage('default', person, { sender: { ...person, pushName } }),
        'n1',
      );
      return { id: chatId, phone: String(person.phone) };
    };
    const { id, phone } = await add('Ana');
    const others = [await add('Berta'), await add('Berta'), await add('Anabel')];
    expect((await wa2ai('chats', 'show', 'ana')).output).toContain(`id: ${id}\n`);
    expect(await wa2ai('chats', 'pause', 'Berta')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /Several chats are named "Berta"\. Use an id: \d+ \(Berta\), \d+ \(Berta\)\./,
      ),
    });
    expect((await wa2ai('chats', 'show', 'Nobody')).errors).toContain('No chat has the name "Nobody".');
    expect((await wa2ai('chats', 'show', 'anab')).output).toContain(`id: ${others[2]?.id}\n`);

    expect((await wa2ai('send', 'ana', 'hi')).code).toBe(0);
    expect((await wa2ai('routes', 'explain', 'ANA', 'hi', '--json')).output).toContain(`"${phone}"`);
    expect(await wa2ai('send', 'Anab', 'hi')).toMatchObject({
      code: 1,
      errors: 'wa2ai: No chat has the name "Anab". wa2ai chats list shows all.\n',
    });
    expect((await wa2ai('send', 'Berta', 'hi')).errors).toContain(
      `Use an address: ${others[1]?.phone} (Berta)`,
    );

    const words = (await wa2ai('names', 'chat')).output.trim().split('\n');
    const numbers = others.slice(0, 2).map((other) => `+${other.phone}`);
    expect(words.sort()).toEqual([...numbers, 'Ana', 'Anabel'].sort());
    api.accounts.set({ name: 'Shop' });
    expect((await wa2ai('names', 'account')).output).toBe('default\n');
    expect(await runWa2ai(['names', 'route', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 3,
      output: '',
    });
  });
});
