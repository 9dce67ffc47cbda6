import type { Feature } from '../../feature.ts';
import { playgroundApi } from './playground-api.ts';
import { scenariosApi } from './scenarios-api.ts';

export const playground: Feature = {
  name: 'playground',
  tags: { Playground: 'Invented people who write to agents: no phone and no WhatsApp.' },
  operations: (app) => [...playgroundApi(app), ...scenariosApi(app)],
};
