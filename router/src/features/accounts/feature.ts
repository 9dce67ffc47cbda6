import type { Feature } from '../../feature.ts';
import { accountLimitsApi } from './account-limits-api.ts';
import { accountsApi } from './accounts-api.ts';

export const accounts: Feature = {
  name: 'accounts',
  operations: (app) => [...accountsApi(app), ...accountLimitsApi(app)],
};
