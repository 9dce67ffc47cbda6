import { describe, expect, it } from 'vitest';
import { capabilityOf } from '../../../../../../router/src/infra/agents/npc/input/capabilities.ts';
import { commandList } from '../../../../../../router/src/infra/agents/npc/input/npc-command.ts';

describe('commandList', () => {
  it('cuts the list of a card with very many capabilities', () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      capabilityOf(`custom:capability-number-${index}`),
    );
    expect(commandList(many)).toMatch(/… and \d+ more/);
    expect(commandList(many).length).toBeLessThan(8_000);
  });
});
