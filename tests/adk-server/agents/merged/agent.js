import { LlmAgent, ParallelAgent, SequentialAgent } from '@google/adk';
import { ScriptedModel } from '../../lib/scripted-model.js';

/** Two agents at once, then a third that sums up: only the sum is for the person. */
export const rootAgent = new SequentialAgent({
  name: 'merged',
  subAgents: [
    new ParallelAgent({
      name: 'both',
      subAgents: [
        new LlmAgent({ name: 'pro', model: new ScriptedModel('pro', () => 'for it') }),
        new LlmAgent({ name: 'con', model: new ScriptedModel('con', () => 'against it') }),
      ],
    }),
    new LlmAgent({ name: 'judge', model: new ScriptedModel('judge', () => 'weighed: for it') }),
  ],
});
