import { LlmAgent } from '@google/adk';
import { ScriptedModel } from '../../lib/scripted-model.js';

/** An agent with the author name of the agent contract. */
export const rootAgent = new LlmAgent({
  name: 'model',
  model: new ScriptedModel('model', ({ text, turn }) => `turn ${turn}: you said "${text}"`),
});
