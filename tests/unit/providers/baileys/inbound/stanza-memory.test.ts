import { beforeEach, expect, it } from 'vitest';
import { StanzaMemory } from '../../../../../router/src/providers/baileys/inbound/stanza-memory.ts';

let memory: StanzaMemory;

beforeEach(() => {
  memory = new StanzaMemory();
  memory.countFrom(100n);
});

it('gives orders that grow, from what was stored on, and never go back', () => {
  expect(memory.orderOf('a')).toBe(101n);
  memory.countFrom(50n);
  expect(memory.orderOf('b')).toBe(102n);
});

it('keeps the order of a message that comes twice', () => {
  memory.note('a', memory.orderOf('a'), 'open');
  memory.note('b', memory.orderOf('b'), 'open');
  expect(memory.orderOf('a')).toBe(101n);
});

it('forgets nothing worse than the oldest of very many', () => {
  memory.note('oldest', memory.orderOf('oldest'), 'received');
  for (let number = 0; number < 10_000; number++) memory.note(`${number}`, BigInt(number), 'received');
  expect(memory.outcomeOf('oldest')).toBeUndefined();
  expect(memory.outcomeOf('9999')).toBe('received');
});

it('takes no later word for a message that core has', () => {
  memory.note('a', 1n, 'received');
  for (const outcome of ['open', 'failed', 'handed'] as const) memory.note('a', 1n, outcome);
  expect([memory.outcomeOf('a'), memory.isRead('a')]).toEqual(['received', true]);
});

it('knows a message as read from the moment it is handed on', () => {
  memory.note('a', 1n, 'failed');
  expect(memory.isRead('a')).toBe(false);
  memory.note('a', 1n, 'handed');
  expect(memory.isRead('a')).toBe(true);
});
