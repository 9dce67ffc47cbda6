import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

const AGENT_MS = 1_000;

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ agent: ['--delay-ms', String(AGENT_MS)] });
});

afterAll(async () => {
  await bed.close();
});

describe('wa2ai with many chats at once', () => {
  it('answers 40 chats concurrently and in order within each', async () => {
    const people = Array.from({ length: 40 }, () => bed.person());
    // First contact costs a key agreement a person; this is about chats, not about strangers.
    await Promise.all(people.map((person) => person.say('hello', { to: bed.phone })));
    await Promise.all(people.map((person) => person.nextReply(60_000)));
    for (const text of ['first', 'second']) {
      await Promise.all(people.map((person) => person.say(text, { to: bed.phone })));
    }
    const answers = await Promise.all(people.map((person) => person.waitForReceived(3, 60_000)));
    for (const bubbles of answers) {
      expect(bubbles.map((bubble) => bubble.text)).toEqual(['Echo: hello', 'Echo: first', 'Echo: second']);
    }
    // One chat after the other would spread the first answers over as many seconds as there are chats.
    const firstAnswers = answers.map((bubbles) => bubbles[1]?.at ?? 0);
    expect(Math.max(...firstAnswers) - Math.min(...firstAnswers)).toBeLessThan(
      (people.length * AGENT_MS) / 2,
    );
  });
});
