import { describe, expect, it } from 'vitest';
import { type AgentsResults, agentRows, agentsTable } from '../../bench/agents-report.ts';

const results: AgentsResults = {
  kinds: { npc: { wa2ai: 3, bare: 1, added: 1.99 }, webhook: { wa2ai: 3, bare: 1, added: 2 } },
  opens: { wa2ai: 80, bare: 100 },
  fanOut: { wa2ai: 101, bare: 80 },
};

describe('the report of the bench of agents', () => {
  it('allows less than two milliseconds for a kind, and four fifths of a bare server for the face', () => {
    expect(agentRows(results).map(({ isMet, result }) => [isMet, result])).toEqual([
      [true, '+1.99 ms'],
      [false, '+2 ms'],
      [true, '0.8x'],
      [false, '0.79x'],
    ]);
  });

  it('takes a value that could not be measured for a missed target', () => {
    const rows = agentRows({ ...results, opens: { wa2ai: Number.NaN, bare: 100 } });
    expect(rows[2]?.isMet).toBe(false);
  });

  it('is a table for the documentation', () => {
    expect(agentsTable(results).split('\n').at(-1)).toBe(
      '| end of a task until 200 readers know it, p99 | 80 ms | 101 ms | 0.79x | >= 0.8x | **no** |',
    );
  });
});
