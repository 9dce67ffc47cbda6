import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
});

/** A person whose chat has a route with this presence, and an agent that takes a while. */
async function personWith(presence: Record<string, unknown>, switches: string[] = ['--delay-ms', '1500']) {
  const agent = await bed.anotherAgent(switches);
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config: { presence, failure: { tryForMs: 0 } } });
  return person;
}

describe('what a person sees of the work on a message', () => {
  it('is blue ticks when the turn begins, "typing...", and no reaction, by default', async () => {
    const person = await personWith({});
    const id = await person.say('hello', { to: bed.phone });
    const read = await person.waitForReceipt(id, undefined, 'read');
    await person.waitForPresence('composing');
    const reply = await person.nextReply();
    expect(read.at).toBeLessThan(reply.at);
    expect(person.reactions).toEqual([]);
  });

  it('is neither when the settings say so', async () => {
    const person = await personWith({ readReceipts: 'never', typing: false });
    const id = await person.say('hello', { to: bed.phone });
    await person.nextReply();
    expect(person.receipts.filter((receipt) => receipt.id === id && receipt.type === 'read')).toEqual([]);
    expect(person.presences).toEqual([]);
  });

  it('is a reaction while the agent works, which is replaced at the end', async () => {
    const reactions = { working: '👀', done: '✅', failed: '❌' };
    const person = await personWith({ reactions });
    const id = await person.say('hello', { to: bed.phone });
    await person.waitForReaction(id, '✅');
    expect(person.reactions.map(({ emoji }) => emoji)).toEqual(['👀', '✅']);
    expect((await person.waitForReceived(1)).map(({ text }) => text)).toEqual(['Echo: hello']);

    const other = await personWith({ reactions }, ['--fail', '500']);
    const failed = await other.say('hello', { to: bed.phone });
    await other.waitForReaction(failed, '❌');
    expect(other.received).toEqual([]);
  });

  it('is removed when wa2ai was killed while the agent worked', async () => {
    const person = await personWith({ reactions: { working: '👀' } });
    const id = await person.say('hello', { to: bed.phone });
    await person.waitForReaction(id, '👀');
    await bed.service.end('SIGKILL');
    expect(person.reactions.map(({ emoji }) => emoji)).toEqual(['👀']);
    await bed.restartService();
    await person.waitForReaction(id, '');
    expect(person.reactions.at(-1)?.emoji).toBe('');
    expect((await person.waitForReceived(1)).map(({ text }) => text)).toEqual(['Echo: hello']);
  });
});
