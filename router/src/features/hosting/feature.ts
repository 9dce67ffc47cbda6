import type { Feature } from '../../feature.ts';
import { agentsApi } from './agents-api.ts';

export const hosting: Feature = {
  name: 'hosting',
  operations: agentsApi,
};
