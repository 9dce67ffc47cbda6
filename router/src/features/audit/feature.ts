import type { Feature } from '../../feature.ts';
import { auditApi } from './audit-api.ts';

export const audit: Feature = {
  name: 'audit',
  operations: auditApi,
};
