import { afterAll, beforeAll, expect, it } from 'vitest';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { NpcDouble } from '../doubles/npc-agent.ts';
import type { StandInServer } from '../doubles/stand-in-server.ts';
import { startWebhookServer } from '../doubles/webhook-server.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

/** People of one kind in a round: the first gets a line and the result later, the second one waits for it. */
const WAITS_MS = [0, 600_000];

let bed: TestBed;
let npc: NpcDouble;
let a2a: A2aDouble;
let webhook: StandInServer;
/** Tokens by which the webhook answers later, one for each request. */
const tokens: string[] = [];

beforeAll(async () => {
  bed = await TestBed.startPaired();
  // The worst agent that can still be asked: it knows no keys of repeats, and says which parameters its tasks have.
  npc = await NpcDouble.start({ isIdempotent: false, showsParams: true });
  a2a = await A2aDouble.start();
  webhook = await startWebhookServer({
    answer: ({ token }) => {
      if (token !== undefined) tokens.push(token);
      return { status: 202 };
    },
  });
});

afterAll(async () => {
  await bed.close();
  await npc.stop();
  await a2a.stop();
  await webhook.close();
});

/** Tasks and messages that reached the agents. */
function begun(): number {
  return npc.opened('duel').length + a2a.messages.length + tokens.length;
}

/** Ends all work that the agents have begun. The webhook can tell only a wa2ai that runs. */
async function endAll(isRunning: boolean): Promise<void> {
  for (const task of npc.opened('duel')) {
    if (task.status === 'pending') npc.complete(task.taskId, { message: 'All done' });
  }
  for (const taskId of a2a.running) a2a.end(taskId, 'All done');
  for (const token of isRunning ? tokens.splice(0) : []) {
    const { status } = await bed.service.api('POST', `/api/replies/${token}`, { text: 'All done' });
    // 409: an earlier request for the same message was answered.
    if (status !== 202 && status !== 409) tokens.push(token);
  }
}

/** Six people who each begin a long task. */
async function askAll(round: number): Promise<Person[]> {
  const people: Person[] = [];
  for (const [index, waitMs] of WAITS_MS.entries()) {
    const wager = String(1 + round * WAITS_MS.length + index);
    const duel = `/duel 0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d ${wager}`;
    for (const [url, settings, text] of [
      [npc.url, { npc: { waitMs } }, duel],
      [a2a.url, { a2a: { waitMs } }, 'run'],
      [webhook.url, { webhook: {} }, 'please'],
    ] as const) {
      const person = bed.person();
      await bed.service.addRoute(person.phone, url, { config: { adk: undefined, ...settings } });
      people.push(person);
      await person.say(text, { to: bed.phone });
    }
  }
  return people;
}

it.each([1, 3, 5, 6])(
  'wa2ai killed after %i of 6 long tasks began reports each of them once, and begins none twice',
  async (moment) => {
    const before = { begun: begun(), duels: npc.opened('duel').length, sent: a2a.messages.length };
    const people = await askAll(moment);
    await expect.poll(() => begun() - before.begun).toBeGreaterThanOrEqual(moment);
    await bed.service.end('SIGKILL');
    if (moment % 2 === 1) await endAll(false);
    await bed.restartService();
    const results = (person: Person) =>
      person.received.filter(({ text }) => text?.includes('All done')).length;
    await expect
      .poll(async () => {
        await endAll(true);
        return people.every((person) => results(person) > 0);
      })
      .toBe(true);
    // What is said twice would be there before the answer to the next message.
    for (const person of people) {
      await bed.service.addRoute(person.phone, bed.agent.url, { priority: 1 });
      await person.say('and now', { to: bed.phone });
    }
    for (const person of people) {
      await expect.poll(() => person.received.some(({ text }) => text === 'Echo: and now')).toBe(true);
      expect(results(person)).toBe(1);
    }
    expect(npc.opened('duel')).toHaveLength(before.duels + WAITS_MS.length);
    expect(a2a.messages).toHaveLength(before.sent + WAITS_MS.length);
  },
);
