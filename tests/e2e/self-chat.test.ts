import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;

/** The account's number, bare digits. */
const numberOf = (phone: { readonly pn: string }) => phone.pn.replace(/@.*$/, '');

beforeAll(async () => {
  bed = await TestBed.startPaired();
});
afterAll(() => bed.close());

describe('The self-chat of an account ("message yourself")', () => {
  it('is ignored with the wildcard route alone', async () => {
    const id = await bed.phone.say('note to self', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'own-message' });
  });

  it('is answered when a route names it, and the replies are not answered again', async () => {
    await bed.service.addRoute(numberOf(bed.phone), bed.agent.url);
    const first = await bed.phone.say('first', { to: bed.phone });
    expect((await bed.phone.waitForCopies(1)).map(({ text }) => text)).toEqual(['Echo: first']);
    expect(await bed.untilTurnEnded(first)).toMatchObject({ state: 'answered' });

    await bed.service.end();
    await bed.restartService();
    await bed.phone.say('second', { to: bed.phone });
    expect((await bed.phone.waitForCopies(2)).map(({ text }) => text)).toEqual([
      'Echo: first',
      'Echo: second',
    ]);

    // a message of another person passes the same connection after any echo of the replies
    const ana = bed.person();
    await ana.say('hello', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: hello');
    const { body } = await bed.service.api('GET', '/api/messages?limit=100');
    const texts = (body.data as Array<{ state: string; text: string }>).map(({ state, text }) => [
      state,
      text,
    ]);
    expect(
      texts
        .filter(([state]) => state === 'answered')
        .map(([, text]) => text)
        .sort(),
    ).toEqual(['first', 'hello', 'second']);
  });
});
