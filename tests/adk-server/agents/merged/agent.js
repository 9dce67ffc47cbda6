import { LlmAgent, ParallelAgent, SequentialAgent } from '@google/adk';
import { ScriptedModel } from '../../lib/scripted-model.js';

/** Two parallel agents, then a third that summarizes: the person gets only the summary. */
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
