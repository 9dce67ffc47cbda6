import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';
import { sticker, voice } from '../whatsapp-emulator/message-content.ts';

const bed = TestBed.shared();

beforeAll(() => bed.converse({}));

describe('instead of silence, a person gets', () => {
  it('one sentence for kinds of messages that the agent cannot take, in their language', async () => {
    const ana = bed.person({ phone: '5493777000123' });
    const ids = [await ana.say(voice(), { to: bed.phone }), await ana.say(sticker(), { to: bed.phone })];
    expect((await ana.nextReply()).text).toBe(
      'Aquí no puedo abrir este tipo de mensaje. Escríbelo como texto, por favor.',
    );
    for (const id of ids) expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored' });
    await ana.say('hola', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: hola');
    expect(ana.received).toHaveLength(2);
  });

  it('one sentence when turns fail, at most once in ten minutes', async () => {
    const broken = await bed.anotherAgent(['--fail', '500']);
    const bo = bed.person();
    const config = { failure: { tryForMs: 0 }, notices: { failed: 'Try later.' } };
    await bed.service.addRoute(bo.phone, broken.url, { config });
    const ids = [await bo.say('one', { to: bed.phone }), await bo.say('two', { to: bed.phone })];
    expect((await bo.nextReply()).text).toBe('Try later.');
    for (const id of ids) expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'dead' });
    expect(bo.received).toHaveLength(1);
  });

  it('word of a slow answer, before the answer', async () => {
    let answer = () => {};
    const released = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow = await StandInServer.start(async ({ method }) => {
      // Not the look at a new route's agent.
      if (method === 'POST') await released;
      return { body: [{ author: 'model', content: { role: 'model', parts: [{ text: 'It will rain.' }] } }] };
    });
    onTestFinished(() => slow.close());
    const cleo = bed.person();
    await bed.service.addRoute(cleo.phone, slow.url, { config: { notices: { slowAfterMs: 1000 } } });
    await cleo.say('think about the weather, please', { to: bed.phone });
    expect((await cleo.nextReply()).text).toBe('This takes a little longer. The answer is on its way.');
    answer();
    expect((await cleo.nextReply()).text).toBe('It will rain.');
  });
});
