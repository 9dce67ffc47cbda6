import type { Feature } from '../../feature.ts';
import { taskPushesApi } from './task-pushes-api.ts';

export const a2a: Feature = {
  name: 'a2a',
  operations: taskPushesApi,
};
