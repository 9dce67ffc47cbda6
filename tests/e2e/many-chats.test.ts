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
    // The first message of a person costs a key agreement, which is not measured here.
    await Promise.all(people.map((person) => person.say('hello', { to: bed.phone })));
    await Promise.all(people.map((person) => person.nextReply(60_000)));
    for (const text of ['first', 'second']) {
      await Promise.all(people.map((person) => person.say(text, { to: bed.phone })));
    }
    const answers = await Promise.all(people.map((person) => person.waitForReceived(3, 60_000)));
    for (const bubbles of answers) {
      expect(bubbles.map((bubble) => bubble.text)).toEqual(['Echo: hello', 'Echo: first', 'Echo: second']);
    }
    // Chats in sequence would need a second each until the last first answer.
    const firstAnswers = answers.map((bubbles) => bubbles[1]?.at ?? 0);
    expect(Math.max(...firstAnswers) - Math.min(...firstAnswers)).toBeLessThan(
      (people.length * AGENT_MS) / 2,
    );
  });
});
