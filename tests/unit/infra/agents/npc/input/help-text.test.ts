import { describe, expect, it } from 'vitest';
import {
  capabilityOf,
  STANDARD_CAPABILITIES,
} from '../../../../../../router/src/infra/agents/npc/input/capabilities.ts';
import {
  capabilityHelp,
  commandList,
  usage,
} from '../../../../../../router/src/infra/agents/npc/input/npc-command.ts';

describe('commandList', () => {
  it('shows each command with its arguments, and the commands of wa2ai', () => {
    const text = commandList(STANDARD_CAPABILITIES);
    expect(text).toContain('/duel OPPONENT WAGER [TOKEN] – fights against an opponent for a wager');
    expect(text).toContain('/quest ID DIFFICULTY REWARD SECONDS');
    expect(text).toContain('/task ID cancel');
  });

  it('cuts the list of a card with very many capabilities', () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      capabilityOf(`custom:capability-number-${index}`),
    );
    expect(commandList(many)).toMatch(/… and \d+ more/);
    expect(commandList(many).length).toBeLessThan(8_000);
  });
});

describe('capabilityHelp', () => {
  it('describes each parameter, and shows an example', () => {
    expect(capabilityHelp(capabilityOf('emotion'))).toBe(
      '/emotion TRIGGER INTENSITY [CONTEXT] – triggers a feeling\n• trigger: a text\n• intensity: a number from 0 to 100\n• context (optional): a text, or an object such as {"place":"gate"}\nExample: /emotion gift 80',
    );
  });
});

describe('usage', () => {
  it('has the arguments that a command needs', () => {
    expect(usage(capabilityOf('trade'))).toBe('/trade sword 2 1000');
  });
});
