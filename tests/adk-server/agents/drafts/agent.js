import { LlmAgent, SequentialAgent } from '@google/adk';
import { ScriptedModel } from '../../lib/scripted-model.js';

/** Two agents in sequence; both return a final answer, and the person gets the second. */
export const rootAgent = new SequentialAgent({
  name: 'drafts',
  subAgents: [
    new LlmAgent({
      name: 'drafter',
      model: new ScriptedModel('drafter', ({ text }) => `draft on "${text}"`),
    }),
    new LlmAgent({
      name: 'editor',
      model: new ScriptedModel('editor', ({ text }) => `edited answer on "${text}"`),
    }),
  ],
});
