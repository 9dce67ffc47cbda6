import { LlmAgent, ParallelAgent } from '@google/adk';
import { ScriptedModel, think } from '../../lib/scripted-model.js';

/** Two agents at once in branches of their own; the person should get both answers. */
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
