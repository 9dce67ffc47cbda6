import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

interface Chat {
  id: string;
  isLocked?: true;
  lastMessage?: { text: string; direction: string };
}

async function chatsOf(query: string): Promise<Chat[]> {
  return (await bed.service.api('GET', `/api/chats?${query}`)).body.data as Chat[];
}

/** The chat with this person, as soon as it is locked, or is not. */
const untilLocked = ({ phone }: Person, isLocked: boolean) =>
  until(`the chat with ${phone} is ${isLocked ? '' : 'not '}locked`, async () => {
    const [chat] = await chatsOf(`channelId=${phone}`);
    return chat && (chat.isLocked ?? false) === isLocked ? chat : undefined;
  });

/** Texts of the messages that a search finds, in all chats or in one. */
async function found(text: string, path = '/api/messages'): Promise<string[]> {
  const { body } = await bed.service.api('GET', `${path}?text=${text}`);
  return (body.data as Array<{ text: string }>).map((message) => message.text).sort();
}

describe('a chat that the owner locks on the phone', () => {
  it('is answered, and its words are shown in the chat only, until it is unlocked', async () => {
    const ana = bed.person({ name: 'Ana' });
    await ana.say('aubergine one', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: aubergine one');
    await bed.phone.lock(ana);
    const { id } = await untilLocked(ana, true);
    await ana.say('aubergine two', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: aubergine two');

    const [locked] = await chatsOf('locked=true');
    expect(locked).toMatchObject({ id, isLocked: true, lastMessage: { text: '' } });
    expect(await found('aubergine')).toEqual([]);
    expect(await found('two', `/api/chats/${id}/messages`)).toEqual(['Echo: aubergine two', 'aubergine two']);

    await bed.phone.lock(ana, false);
    expect((await untilLocked(ana, false)).lastMessage?.text).toBe('Echo: aubergine two');
    expect(await found('aubergine')).toEqual(['aubergine one', 'aubergine two']);
  });

  it('is locked also when it happened while wa2ai was killed, and stays locked', async () => {
    const [bo, cleo] = [bed.person({ name: 'Bo' }), bed.person({ name: 'Cleo' })];
    for (const person of [bo, cleo]) {
      await person.say('hello', { to: bed.phone });
      await person.nextReply();
    }
    await bed.phone.lock(bo);
    await untilLocked(bo, true);
    await bed.service.end('SIGKILL');
    await bed.phone.lock(cleo);
    await bed.restartService();
    await untilLocked(cleo, true);
    expect(await untilLocked(bo, true)).toBeDefined();
  });

  it('has drafts that the owner decides about without reading them in another chat', async () => {
    const dan = bed.person({ name: 'Dan' });
    await bed.phone.lock(dan);
    const { id } = await untilLocked(dan, true);
    await bed.service.api('POST', `/api/chats/${id}/pause`, { mode: 'approve' });
    const waMessageId = await dan.say('my secret', { to: bed.phone });
    const row = await bed.untilTurnEnded(waMessageId);
    const shown = await until('the owner is shown the draft', async () =>
      bed.phone.copies.map(({ text }) => text ?? '').find((text) => text.includes(`#send ${row.id}`)),
    );
    expect(shown).toContain(`🔒 (chat ${id})`);
    expect(shown).not.toMatch(/secret|Dan|\d{8}/);
    await bed.phone.say(`#send ${row.id}`, { to: bed.phone });
    expect((await dan.nextReply()).text).toBe('Echo: my secret');
  });
});
