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
      return chatId;
    };
    const id = await add('Ana');
    await add('Berta');
    await add('Berta');
    expect((await wa2ai('chats', 'show', 'ana')).output).toContain(`id: ${id}\n`);
    expect(await wa2ai('chats', 'pause', 'Berta')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /Several chats are named "Berta"\. Use an id: \d+ \(Berta\), \d+ \(Berta\)\./,
      ),
    });
    expect((await wa2ai('chats', 'show', 'Nobody')).errors).toContain('No chat has the name "Nobody".');
    expect((await wa2ai('names', 'chat')).output).toBe('Berta\nBerta\nAna\n');
    expect((await wa2ai('names', 'account')).output).toBe('default\n');
    expect(await runWa2ai(['names', 'route', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 3,
      output: '',
    });
  });
});
