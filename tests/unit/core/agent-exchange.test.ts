import { describe, expect, it } from 'vitest';
import { type AgentExchange, addExchange } from '../../../router/src/core/agent-exchange.ts';

describe('addExchange', () => {
  it('keeps the first exchanges of a message and the last ones', () => {
    const kept: AgentExchange[] = [];
    for (let attempt = 1; attempt <= 30; attempt++) {
      addExchange(kept, { attempt, at: '', request: { method: 'POST', url: '', headers: {} } });
    }
    expect(kept).toHaveLength(12);
    expect(kept.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 23, 24, 25, 26, 27, 28, 29, 30]);
  });
});
