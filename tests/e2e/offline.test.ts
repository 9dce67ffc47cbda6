import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Stage } from '../support/stage.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.setAndPaired();
});

afterEach(async () => {
  await stage.strike();
});

describe('messages sent while wa2ai was down', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'are answered after the next start, in order (%s)',
    async (signal) => {
      const [ana, bo] = [stage.person(), stage.person({ via: 'lid' })];
      const group = createGroup(stage.emulator, { subject: 'Friends', members: [ana, bo, stage.phone] });
      await ana.say('before', { to: stage.phone });
      await ana.nextReply();
      await stage.service.end(signal);

      for (const text of ['one', 'two', 'three']) {
        await ana.say(text, { to: stage.phone });
        await bo.say(text, { to: stage.phone });
      }
      await ana.say('in the group', { to: group });
      await stage.restartService();

      const answers = (await ana.waitForReceived(5, 30_000)).filter((bubble) => bubble.chat !== group.jid);
      expect(answers.map((bubble) => bubble.text)).toEqual(
        ['before', 'one', 'two', 'three'].map((t) => `Echo: ${t}`),
      );
      expect(ana.received.some((bubble) => bubble.chat === group.jid)).toBe(true);
      const others = (await bo.waitForReceived(4, 30_000)).filter((bubble) => bubble.chat !== group.jid);
      expect(others.map((bubble) => bubble.text)).toEqual(['Echo: one', 'Echo: two', 'Echo: three']);
    },
  );

  it('are stored and not answered when they are older than the limit', async () => {
    const ana = stage.person();
    await ana.say('hello', { to: stage.phone });
    await ana.nextReply();
    await stage.service.end();
    const old = await ana.say('long ago', { to: stage.phone, timestamp: Date.now() - 3_600_000 });
    await ana.say('just now', { to: stage.phone });
    await stage.restartService({ WA2AI_MAX_MESSAGE_AGE_MS: '600000' });
    expect((await ana.nextReply(20_000)).text).toBe('Echo: just now');
    expect(await stage.message(old)).toMatchObject({ state: 'ignored', reason: 'too-old' });
  });

  it('are answered by a turn that a kill interrupted', async () => {
    const slow = await stage.anotherAgent(['--delay-ms', '800']);
    const ana = stage.person();
    await stage.service.addRoute(ana.phone, slow.url);
    await ana.say('slowly', { to: stage.phone });
    await ana.waitForPresence('composing');
    await stage.service.end('SIGKILL');
    await stage.restartService();
    expect((await ana.nextReply(20_000)).text).toBe('Echo: slowly');
    await ana.say('and now', { to: stage.phone });
    expect((await ana.nextReply(20_000)).text).toBe('Echo: and now');
    expect(ana.received).toHaveLength(2);
  });
});
