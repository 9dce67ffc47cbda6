import type { Feature } from '../../feature.ts';
import { draftsApi } from './drafts-api.ts';

export const drafts: Feature = {
  name: 'drafts',
  operations: draftsApi,
};
