import type { Feature } from '../../feature.ts';
import { conversationSettingsApi } from './conversation-settings-api.ts';
import { governorSettingsApi } from './governor-settings-api.ts';
import { settingsApi } from './settings-api.ts';

export const settings: Feature = {
  name: 'settings',
  operations: (app) => [...conversationSettingsApi(app), ...governorSettingsApi(app), ...settingsApi(app)],
};
