import type { Feature } from '../../feature.ts';
import { eventsApi } from './events-api.ts';

export const live: Feature = {
  name: 'live',
  operations: eventsApi,
};
