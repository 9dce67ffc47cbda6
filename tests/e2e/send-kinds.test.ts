import { beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { pollVote } from '../whatsapp-emulator/message-content.ts';

const bed = TestBed.shared();

beforeAll(() => bed.converse({}));

async function send(body: object): Promise<string> {
  const { status, body: answer } = await bed.service.api('POST', '/api/messages', body);
  expect(status, JSON.stringify(answer)).toBe(202);
  return (answer as { data: { id: string } }).data.id;
}

describe('POST /api/messages', () => {
  it('sends a poll; a vote is opened and answered as the text of the choice, and so is another vote', async () => {
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    await send({ to: ana.phone, poll: { question: 'When?', options: ['Monday', 'Tuesday'] } });
    const poll = await ana.nextReply();
    expect(poll.message.pollCreationMessageV3).toMatchObject({
      name: 'When?',
      options: [{ optionName: 'Monday' }, { optionName: 'Tuesday' }],
      selectableOptionsCount: 1,
    });
    const jids = [
      { creator: bed.phone.pn, voter: ana.pn },
      { creator: bed.phone.lid, voter: ana.lid },
    ];
    for (const [index, choice] of ['Tuesday', 'Monday'].entries()) {
      const vote = pollVote(poll, [choice], jids[index] ?? { creator: '', voter: '' });
      const id = await ana.say(vote, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: ${choice}`);
      expect(await bed.message(id)).toMatchObject({ kind: 'poll', text: choice, quotedText: 'When?' });
    }
    const shown = await bed.service.api('GET', `/api/messages?direction=all&channelId=${ana.phone}`);
    expect(JSON.stringify(shown)).not.toContain('secret');
  });

  it('stores a vote in a poll that the account did not send, and answers nothing', async () => {
    const bo = bed.person();
    const message = { messageContextInfo: { messageSecret: new Uint8Array(32) } };
    const vote = pollVote({ id: '3EB0UNKNOWN', message, chat: bo.pn }, ['x'], { creator: 'a', voter: bo.pn });
    const id = await bo.say(vote, { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'poll-vote' });
  });

  it('sends a location and contacts', async () => {
    const cleo = bed.person();
    await send({ to: cleo.phone, location: { latitude: 52.52, longitude: 13.4, name: 'Café Uno' } });
    expect((await cleo.nextReply()).message.locationMessage).toMatchObject({
      degreesLatitude: 52.52,
      degreesLongitude: 13.4,
      name: 'Café Uno',
    });
    const contacts = [{ name: 'Bo; the cook', phone: '+34 600 000 001' }];
    await send({ to: cleo.phone, contacts });
    const card = (await cleo.nextReply()).message.contactMessage;
    expect(card?.displayName).toBe('Bo; the cook');
    expect(card?.vcard).toContain('FN:Bo\\; the cook\n');
    expect(card?.vcard).toContain('waid=34600000001:+34600000001');
  });

  it('quotes, edits, deletes and reacts to messages of the chat, and of no other', async () => {
    const [dora, emil] = [bed.person(), bed.person()];
    const question = await dora.say('where are you?', { to: bed.phone });
    await dora.nextReply();
    const { id: received } = (await bed.message(question)) as { id: string };

    const sent = await send({ channelId: dora.phone, text: 'on my way', quote: received });
    const bubble = await dora.nextReply();
    expect(bubble.message.extendedTextMessage?.contextInfo).toMatchObject({ stanzaId: question });

    await send({ channelId: dora.phone, text: 'nearly there', edit: sent });
    await expect.poll(() => dora.received.find(({ id }) => id === bubble.id)?.text).toBe('nearly there');
    await send({ channelId: dora.phone, react: { to: received, emoji: '👍' } });
    await expect
      .poll(() => dora.reactions.find(({ emoji }) => emoji === '👍'))
      .toMatchObject({ id: question });
    await send({ channelId: dora.phone, delete: sent });
    await expect.poll(() => dora.received.find(({ id }) => id === bubble.id)?.text).toBeUndefined();

    for (const body of [{ text: 'x', quote: received }, { text: 'x', edit: sent }, { delete: sent }]) {
      const { status } = await bed.service.api('POST', '/api/messages', { channelId: emil.phone, ...body });
      expect(status).toBe(404);
    }
    expect(emil.received).toHaveLength(0);
  });
});
