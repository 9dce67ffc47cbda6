import { expect, it } from 'vitest';
import { searchableId } from '../../../../../router/src/infra/db/stores/rows.ts';

it('searchableId passes ids on, and turns any other text into one that no row has', () => {
  expect(['1', '999999999999999999'].map(searchableId)).toEqual(['1', '999999999999999999']);
  expect(['', '0', '-1', '1e3', '1; DROP', '9'.repeat(19)].map(searchableId)).toEqual(Array(6).fill('0'));
});
