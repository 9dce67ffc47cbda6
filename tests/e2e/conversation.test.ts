import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

const bed = TestBed.shared();

/** Resolves when the turn of that message ended, by the service's log. */
async function untilEnded(waMessageId: string) {
  const stored = await bed.service.untilLog(
    (line) => line.msg === 'message received' && line.waMessageId === waMessageId,
  );
  expect(stored.outcome).toBe('stored');
}

describe('wa2ai on WhatsApp', () => {
  it('answers a person who writes by phone number', async () => {
    const ana = bed.person();
    await ana.say('hola', { to: bed.phone });
    expect(await ana.nextReply()).toMatchObject({ text: 'Echo: hola', chat: bed.phone.pn });
  });

  it('answers a person who writes by LID, in the same chat', async () => {
    const bo = bed.person({ via: 'lid' });
    await bo.say('hola', { to: bed.phone });
    expect(await bo.nextReply()).toMatchObject({ text: 'Echo: hola', chat: bed.phone.pn });
  });

  it('recognises a person by number and by LID', async () => {
    const cleo = bed.person();
    const route = await bed.service.addRoute(cleo.phone, bed.agent.url, { name: 'cleo' });
    const first = await cleo.say('by number', { to: bed.phone, via: 'pn' });
    await cleo.nextReply();
    const second = await cleo.say('by LID', { to: bed.phone, via: 'lid' });
    await cleo.nextReply();
    const rows = [await bed.message(first), await bed.message(second)];
    expect(rows.map((row) => row?.routeId)).toEqual([route.id, route.id]);
    expect(rows[0]?.chatId).toBe(rows[1]?.chatId);
    const { body } = await bed.service.api('POST', '/api/routes/explain', {
      channelId: cleo.lid,
      text: 'by LID',
    });
    expect(body.data).toMatchObject({ decision: 'route', route: { id: route.id } });
  });

  it.each(['lid', 'pn'] as const)('answers in a group with %s addressing', async (addressing) => {
    const [dan, eva] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, {
      subject: 'Friends',
      addressing,
      members: [dan, eva, bed.phone],
    });
    await dan.say('anybody here?', { to: group });
    for (const member of [dan, eva]) {
      expect(await member.nextReply()).toMatchObject({ text: 'Echo: anybody here?', chat: group.jid });
    }
  });

  it('answers everyone who writes with a message id that another sender used', async () => {
    const [una, vic] = [bed.person(), bed.person()];
    await bed.service.addRoute(una.phone, bed.agent.url, { config: { takeover: { minutes: 0 } } });
    const group = createGroup(bed.emulator, { subject: 'Ids', members: [una, vic, bed.phone] });
    const id = await una.say('from Una', { to: group });
    await vic.say('from Vic', { to: group, id });
    const replies = await vic.waitForReceived(2);
    expect(replies.map(({ text }) => text)).toEqual(['Echo: from Una', 'Echo: from Vic']);
    const own = await bed.phone.say('from the account', { to: una.pn });
    await una.say('with its id', { to: bed.phone, id: own });
    expect((await una.waitForReceived(3))[2]).toMatchObject({
      text: 'Echo: with its id',
      chat: bed.phone.pn,
    });
  });

  it('answers many messages in order with one reply each', async () => {
    const finn = bed.person();
    const texts = Array.from({ length: 25 }, (_, index) => `line ${index}`);
    for (const text of texts) await finn.say(text, { to: bed.phone });
    const bubbles = await finn.waitForReceived(texts.length);
    expect(bubbles.map((bubble) => bubble.text)).toEqual(texts.map((text) => `Echo: ${text}`));
    expect(new Set(bubbles.map((bubble) => bubble.id)).size).toBe(texts.length);
  });

  it('answers once when WhatsApp delivers a message twice', async () => {
    const gil = bed.person();
    const id = await gil.say('once', { to: bed.phone });
    await gil.nextReply();
    gil.redeliver(id);
    await gil.sayAgain(id);
    await gil.say('next', { to: bed.phone });
    expect((await gil.nextReply()).text).toBe('Echo: next');
    expect(gil.received.map((bubble) => bubble.text)).toEqual(['Echo: once', 'Echo: next']);
  });

  it('requests a message that does not decrypt again, and answers it', async () => {
    const hana = bed.person();
    await hana.say('warm-up', { to: bed.phone });
    await hana.nextReply();
    await hana.say('garbled at first', { to: bed.phone, isCorrupt: true });
    expect((await hana.nextReply()).text).toBe('Echo: garbled at first');
  });

  it('sends the reply again to a phone that could not decrypt it', async () => {
    const ida = bed.person();
    await ida.say('first', { to: bed.phone });
    await ida.nextReply();
    await ida.loseSession(bed.phone);
    await ida.say('second', { to: bed.phone });
    expect((await ida.nextReply()).text).toBe('Echo: second');
  });

  it('shows typing while the agent works', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '1200']);
    const jon = bed.person();
    await bed.service.addRoute(jon.phone, slow.url);
    await jon.say('think', { to: bed.phone });
    await jon.waitForPresence('composing');
    expect((await jon.nextReply()).text).toBe('Echo: think');
  });

  it("does not answer the account's own messages, and records the reason", async () => {
    const kim = bed.person();
    await bed.service.addRoute(kim.phone, bed.agent.url, { config: { takeover: { minutes: 0 } } });
    await kim.say('hello', { to: bed.phone });
    await kim.nextReply();
    const own = await bed.phone.say('I answer myself', { to: kim });
    await untilEnded(own);
    expect(await bed.message(own)).toMatchObject({ state: 'ignored', reason: 'own-message' });
  });

  it('stores a message without text and answers it only when the route has a notice', async () => {
    const leo = bed.person();
    await bed.service.addRoute(leo.phone, bed.agent.url, {
      config: { notices: { unsupported: 'I can only read text.' } },
    });
    const id = await leo.say(
      { audioMessage: { seconds: 2, ptt: true, mimetype: 'audio/ogg' } },
      { to: bed.phone },
    );
    expect((await leo.nextReply()).text).toBe('I can only read text.');
    expect(await bed.message(id)).toMatchObject({ state: 'ignored', kind: 'audio' });
  });

  it('records acknowledgement, delivery and reading of a reply', async () => {
    const mia = bed.person({ habit: { receipts: 'read' } });
    const id = await mia.say('read me', { to: bed.phone });
    const reply = await mia.nextReply();
    // the receipts of the first exchange arrive before the next message, so they are processed before its reply
    await mia.say('and then', { to: bed.phone });
    await mia.nextReply();
    await expect
      .poll(async () => (await bed.message(id))?.replies)
      .toMatchObject([{ waMessageId: reply.id, state: 'read' }]);
  });

  it('sends a message of the API once per idempotency key', async () => {
    const nia = bed.person();
    const send = () =>
      bed.service.api(
        'POST',
        '/api/messages',
        { channelId: nia.phone, text: 'Your order is ready.' },
        { 'Idempotency-Key': 'k1' },
      );
    const [first, second] = [await send(), await send()];
    expect(first.status).toBe(202);
    expect(second.body.data).toMatchObject({
      waMessageId: (first.body.data as { waMessageId: string }).waMessageId,
    });
    expect((await nia.nextReply()).text).toBe('Your order is ready.');
    await nia.say('thanks', { to: bed.phone });
    expect((await nia.nextReply()).text).toBe('Echo: thanks');
  });
});
