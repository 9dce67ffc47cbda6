import type { Feature } from '../../feature.ts';
import { keysApi } from './keys-api.ts';
import { sessionApi, sessionsApi } from './session-api.ts';
import { forgetLoginAttempts } from './sign-in.ts';
import { usersApi } from './users-api.ts';

export const access: Feature = {
  name: 'access',
  operations: (app) => [...keysApi(app), ...sessionApi(app), ...sessionsApi(app), ...usersApi(app)],
  retention: { always: [forgetLoginAttempts] },
};
