import type { Feature } from '../../feature.ts';
import { tasksApi } from './tasks-api.ts';

export const tasks: Feature = {
  name: 'tasks',
  operations: tasksApi,
};
