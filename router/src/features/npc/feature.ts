import type { Feature } from '../../feature.ts';
import { npcChainApi } from './npc-chain-api.ts';
import { npcFace } from './npc-face.ts';
import { npcSettingsApi } from './npc-settings-api.ts';
import { npcTradesApi } from './npc-trades-api.ts';

export const npc: Feature = {
  name: 'npc',
  operations: (app) => [...npcSettingsApi(app), ...npcTradesApi(app), ...npcChainApi(app)],
  pages: (app) => npcFace({ ...app, log: app.logOf('npc') }),
};
