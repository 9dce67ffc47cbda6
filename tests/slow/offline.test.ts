import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.startPaired();
});

afterEach(async () => {
  await bed.close();
});

describe('Messages sent while wa2ai was down', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'are answered after the next start, in order (%s)',
    async (signal) => {
      const [ana, bo] = [bed.person(), bed.person({ via: 'lid' })];
      const group = createGroup(bed.emulator, { subject: 'Friends', members: [ana, bo, bed.phone] });
      await ana.say('before', { to: bed.phone });
      await ana.nextReply();
      await bed.service.end(signal);

      for (const text of ['one', 'two', 'three']) {
        await ana.say(text, { to: bed.phone });
        await bo.say(text, { to: bed.phone });
      }
      await ana.say('in the group', { to: group });
      await bed.restartService();

      const answers = (await ana.waitForReceived(5)).filter((bubble) => bubble.chat !== group.jid);
      expect(answers.map((bubble) => bubble.text)).toEqual(
        ['before', 'one', 'two', 'three'].map((t) => `Echo: ${t}`),
      );
      expect(ana.received.some((bubble) => bubble.chat === group.jid)).toBe(true);
      const others = (await bo.waitForReceived(4)).filter((bubble) => bubble.chat !== group.jid);
      expect(others.map((bubble) => bubble.text)).toEqual(['Echo: one', 'Echo: two', 'Echo: three']);
    },
  );

  it('are stored and not answered when they are older than the limit', async () => {
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    await bed.service.end();
    const old = await ana.say('long ago', { to: bed.phone, timestamp: Date.now() - 3_600_000 });
    await ana.say('just now', { to: bed.phone });
    await bed.restartService({ WA2AI_MAX_MESSAGE_AGE: '10m' });
    expect((await ana.nextReply()).text).toBe('Echo: just now');
    expect(await bed.message(old)).toMatchObject({ state: 'ignored', reason: 'too-old' });
  });

  it('are answered when a kill interrupted their turn', async () => {
    const slow = await bed.anotherAgent(['--delay-ms', '800']);
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, slow.url);
    await ana.say('slowly', { to: bed.phone });
    await ana.waitForPresence('composing');
    await bed.service.end('SIGKILL');
    await bed.restartService();
    expect((await ana.nextReply()).text).toBe('Echo: slowly');
    await ana.say('and now', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: and now');
    expect(ana.received).toHaveLength(2);
  });
});
