import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { inbound, TestRouter } from '../support/router.ts';

const loop = { turns: 4, replyMs: 1_500 };
const database = testDatabase();
let agent: MockAgent;

beforeAll(async () => {
  agent = await MockAgent.start();
});

afterAll(async () => {
  await agent.stop();
});

async function untilDropped(router: TestRouter, person: string): Promise<number> {
  for (let turns = 0; turns < 20; turns++) {
    const message = inbound({ person, text: 'pong' });
    await router.receive(message);
    const [row] = await router.log.messages({ channelId: person, limit: 1 });
    if (row?.state === 'ignored') {
      expect(row).toMatchObject({ reason: 'auto-reply-loop', trace: [{}, { step: 'auto-reply-loop' }] });
      return turns;
    }
  }
  throw new Error('nothing was dropped');
}

describe('a program that answers the agent', () => {
  it('is ignored after a number of turns, also when the service restarts in between', async () => {
    const person = '5491155550001';
    const first = await TestRouter.start(database, { loop });
    await first.addRoute('*', agent.url);
    for (let turns = 0; turns < 3; turns++) await first.receive(inbound({ person, text: 'pong' }));
    await first.stop();

    const second = await TestRouter.start(database, { loop: { ...loop, replyMs: 10_000 } });
    expect(await untilDropped(second, person)).toBe(2);
    await second.receive(inbound({ person: '5491155550002', text: 'hola' }));
    expect(second.textsTo('5491155550002@s.whatsapp.net')).toEqual(['Echo: hola']);
    await second.stop();
  });
});
