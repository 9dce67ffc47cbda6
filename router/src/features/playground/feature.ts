import type { Feature } from '../../feature.ts';
import { playgroundApi } from './playground-api.ts';
import { scenariosApi } from './scenarios-api.ts';

export const playground: Feature = {
  name: 'playground',
  operations: (app) => [...playgroundApi(app), ...scenariosApi(app)],
};
