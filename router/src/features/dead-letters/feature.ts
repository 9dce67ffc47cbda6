import type { Feature } from '../../feature.ts';
import { deadLettersApi } from './dead-letters-api.ts';

export const deadLetters: Feature = {
  name: 'dead-letters',
  operations: deadLettersApi,
};
