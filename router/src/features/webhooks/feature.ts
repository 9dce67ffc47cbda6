import type { Feature } from '../../feature.ts';
import { webhooksApi } from './webhooks-api.ts';

export const webhooks: Feature = {
  name: 'webhooks',
  operations: webhooksApi,
};
