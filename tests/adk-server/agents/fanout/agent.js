import { LlmAgent, ParallelAgent } from '@google/adk';
import { ScriptedModel, think } from '../../lib/scripted-model.js';

/** Two parallel agents in separate branches; the person gets both answers. */
export const rootAgent = new ParallelAgent({
  name: 'fanout',
  subAgents: [
    new LlmAgent({ name: 'left', model: new ScriptedModel('left', () => 'left says yes') }),
    new LlmAgent({
      name: 'right',
      model: new ScriptedModel('right', async () => {
        await think(50);
        return 'right says no';
      }),
    }),
  ],
});
