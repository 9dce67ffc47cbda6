import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

/** Resolves when the message's turn ended without a reply. */
async function untilUnanswered(waMessageId: string): Promise<undefined> {
  const { state } = await bed.untilTurnEnded(waMessageId);
  if (state === 'answered') await new Promise(() => undefined);
}

/** A program that answers each message at once, until none arrives. */
async function autoReply(person: Person, answer: (text: string) => string): Promise<number> {
  let id = await person.say('Hello, this is an automatic answer.', { to: bed.phone });
  for (let said = 1; ; said++) {
    const reply = await Promise.race([person.nextReply(), untilUnanswered(id)]);
    if (!reply || said === 60) return said;
    id = await person.say(answer(reply.text ?? ''), { to: bed.phone });
  }
}

describe('Two programs that answer each other', () => {
  it('are stopped after a few turns with a recorded reason, while people are answered', async () => {
    const [parrot, recorder, ana] = [bed.person(), bed.person(), bed.person()];
    const talks = Promise.all([
      autoReply(parrot, (text) => text),
      autoReply(recorder, () => 'We are out of the office until Monday.'),
    ]);
    for (const text of ['hola', 'how are you?']) {
      await ana.say(text, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
    }
    for (const said of await talks) expect(said).toBeLessThanOrEqual(13);
    for (const person of [parrot, recorder]) {
      const { body } = await bed.service.api('GET', `/api/messages?channelId=${person.phone}&limit=1`);
      expect(body.data).toMatchObject([{ state: 'ignored', reason: 'auto-reply-loop' }]);
    }
    const paused = await bed.service.api('GET', '/api/chats?paused=true');
    const phones = [parrot, recorder, ana].map(({ phone }) => phone);
    const chats = (
      paused.body.data as Array<{ id: string; channelId: string; pause: { mode: string } }>
    ).filter(({ channelId }) => phones.includes(channelId));
    expect(chats.map(({ channelId }) => channelId).sort()).toEqual([parrot.phone, recorder.phone].sort());
    const before = parrot.received.length;
    const { id, pause } = chats.find(({ channelId }) => channelId === parrot.phone) ?? {};
    expect(pause?.mode).toBe('auto-reply-loop');
    const resumed = await bed.service.api('POST', `/api/chats/${id}/resume`, { answerMissed: true });
    expect(resumed).toMatchObject({ status: 200, body: { message: 'Chat resumed.' } });
    expect(await parrot.waitForReceived(before + 1)).toHaveLength(before + 1);
  });
});
