import { expect, it } from 'vitest';
import { contextText } from '../../../../router/src/infra/agents/context-text.ts';

it('writes the messages that go along with another one as lines, and nothing for none', () => {
  const context = [
    { name: 'Ana', text: 'shall we meet?' },
    { name: 'Bo', text: '[image]' },
  ];
  expect(contextText(context)).toBe(
    'Earlier messages in this chat, for information:\nAna: shall we meet?\nBo: [image]',
  );
  expect([contextText([]), contextText(undefined)]).toEqual([undefined, undefined]);
});
