import { randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import { beforeAll, describe, expect, it } from 'vitest';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { place, sticker } from '../whatsapp-emulator/message-content.ts';

const bed = TestBed.shared();

beforeAll(() => bed.converse({}));

const contact: proto.IMessage = {
  contactMessage: {
    displayName: 'Bo',
    vcard: 'BEGIN:VCARD\nTEL;waid=34600000001:+34 600 00 00 01\nEND:VCARD',
  },
};
const poll: proto.IMessage = {
  pollCreationMessageV3: {
    name: 'When?',
    options: [{ optionName: 'Monday' }, { optionName: 'Tuesday' }],
    selectableOptionsCount: 1,
  },
};
const event: proto.IMessage = { eventMessage: { name: 'Party', startTime: 1_700_000_000 } };

describe('an agent that reads text gets', () => {
  it('a location, a contact, a poll and an event as their description, in order', async () => {
    const ana = bed.person();
    const sent: Array<[proto.IMessage, string]> = [
      [place(52.52, 13.4, 'Café Uno'), 'Location: Café Uno (52.52, 13.4)'],
      [contact, 'Contact: Bo, 34600000001'],
      [poll, 'Poll: When?\n- Monday\n- Tuesday'],
      [event, 'Event: Party\nStarts: 2023-11-14T22:13:20.000Z'],
    ];
    for (const [message, text] of sent) {
      await ana.say(message, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
    }
  });

  it('no sticker: its person gets one sentence', async () => {
    const bo = bed.person({ phone: '447700900123' });
    await bo.say(sticker(), { to: bed.phone });
    expect((await bo.nextReply()).text).toBe(
      'I cannot open this kind of message here. Please write it as text.',
    );
  });
});

describe('a voice message', () => {
  it('is turned into text before it is decided who is mentioned, once for the same file', async () => {
    const ears = await StandInServer.start(() => ({ body: { text: 'robot, what time is it?' } }));
    const [ana, bo] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Time', members: [ana, bo, bed.phone] });
    await bed.service.addRoute(group.jid, bed.agent.url, {
      config: {
        group: { answer: 'mention', patterns: ['^robot'] },
        media: { transcribe: { url: ears.url, headers: { Authorization: 'Bearer secret-ears' } } },
      },
    });
    const voice = bed.emulator.mediaHost.message('audio', randomBytes(2_000), { isVoice: true });
    const first = await ana.say(voice, { to: group });
    expect((await ana.nextReply()).text).toBe('Echo: robot, what time is it?');
    await bo.say(voice, { to: group });
    expect((await ana.nextReply()).text).toBe('Echo: robot, what time is it?');
    expect(ears.requests).toHaveLength(1);
    expect(ears.requests[0]).toMatchObject({ path: '/v1/audio/transcriptions' });
    expect(ears.requests[0]?.headers.authorization).toBe('Bearer secret-ears');

    expect(await bed.message(first)).toMatchObject({ kind: 'audio', text: 'robot, what time is it?' });
    expect(JSON.stringify(await bed.service.api('GET', '/api/routes'))).not.toContain('secret-ears');
    expect(bed.service.output).not.toContain('secret-ears');
    await ears.close();
  });
});
