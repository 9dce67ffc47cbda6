import { LlmAgent } from '@google/adk';
import { ScriptedModel, say } from '../../lib/scripted-model.js';

/** An agent with the author name of the agent contract. `write TEXT` writes the text word by word, after a thought. */
export const rootAgent = new LlmAgent({
  name: 'model',
  model: new ScriptedModel('model', ({ text, turn }) => {
    const [, written] = /^write (.*)$/s.exec(text) ?? [];
    if (written === undefined) return `turn ${turn}: you said "${text}"`;
    const partial = (part) => ({ ...say(part), partial: true });
    const thought = { text: 'a secret thought', thought: true };
    const words = written.split(/(?<=\s)/).map((word) => partial({ text: word }));
    return [partial(thought), ...words, say(thought, { text: written })];
  }),
});
