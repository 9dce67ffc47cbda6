import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stage } from '../support/stage.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.setAndPaired();
});

afterAll(async () => {
  await stage.strike();
});

/** A program behind a number: it answers every message at once, until none comes. */
async function robot(person: Person, answer: (text: string) => string): Promise<number> {
  let said = 1;
  await person.say('Hello, this is an automatic answer.', { to: stage.phone });
  for (; said < 60; said++) {
    const reply = await person.nextReply(4_000).catch(() => undefined);
    if (!reply) break;
    await person.say(answer(reply.text ?? ''), { to: stage.phone });
  }
  return said;
}

describe('two programs that answer each other', () => {
  it('stop after a few turns with a recorded reason, while people are answered', async () => {
    const [parrot, recorder, ana] = [stage.person(), stage.person(), stage.person()];
    const talks = Promise.all([
      robot(parrot, (text) => text),
      robot(recorder, () => 'We are out of the office until Monday.'),
    ]);
    for (const text of ['hola', 'how are you?']) {
      await ana.say(text, { to: stage.phone });
      expect((await ana.nextReply(10_000)).text).toBe(`Echo: ${text}`);
    }
    for (const said of await talks) expect(said).toBeLessThanOrEqual(13);
    for (const person of [parrot, recorder]) {
      const { body } = await stage.service.api('GET', `/api/messages?channelId=${person.phone}&limit=1`);
      expect(body.data).toMatchObject([{ state: 'ignored', reason: 'loop-breaker' }]);
    }
  });
});
