import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { ephemeralText, timerSetting, viewOnceImage } from '../whatsapp-emulator/message-content.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

/** The timer of the next bubble that the phone shows; undefined: it stays. */
async function nextTimer(person: Person): Promise<number | undefined> {
  const { message } = await person.nextReply();
  return message.extendedTextMessage?.contextInfo?.expiration ?? undefined;
}

describe('a chat with disappearing messages', () => {
  it('gets answers that disappear too, until the person switches the timer off', async () => {
    const person = bed.person();
    await person.say('before', { to: bed.phone });
    expect(await nextTimer(person)).toBeUndefined();
    await person.say(ephemeralText('gone in a day'), { to: bed.phone });
    expect(await nextTimer(person)).toBe(86_400);
    await person.say('stays', { to: bed.phone });
    expect(await nextTimer(person)).toBeUndefined();
  });

  it('gives the timer of the setting to messages of an operator, also after a restart', async () => {
    const person = bed.person();
    const id = await person.say(timerSetting(604_800), { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'timer-changed' });
    await bed.service.end('SIGKILL');
    await bed.restartService();
    await bed.service.api('POST', '/api/messages', { channelId: person.phone, text: 'news' });
    expect(await nextTimer(person)).toBe(604_800);
  });
});

describe('a view-once picture', () => {
  it('is neither stored nor passed on; its caption is answered, and the agent knows that it came', async () => {
    const person = bed.person({ name: 'Ana' });
    const id = await person.say(viewOnceImage('what is this?'), { to: bed.phone });
    expect((await person.nextReply()).text).toBe(
      'Echo: Earlier messages in this chat, for information:\n"Ana": [image, view once]\n\nwhat is this?',
    );
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'answered', text: 'what is this?' });
    expect(row.media).toBeUndefined();
  });
});
