import { describe, expect, it } from 'vitest';
import { interpretNpc } from '../../../../../../router/src/infra/agents/npc/input/npc-command.ts';
import { npcMessage } from '../../../../../support/npc.ts';

describe('the list of commands', () => {
  it('cuts the list of a card with very many capabilities', () => {
    const capabilities = Array.from({ length: 2_000 }, (_, index) => `custom:capability-number-${index}`);
    const said = interpretNpc({ capabilities, settings: {} }, npcMessage('/help'));
    const text = said.kind === 'say' ? said.text : '';
    expect(text).toMatch(/… and \d+ more/);
    expect(text.length).toBeLessThan(8_000);
  });
});
