import type { Feature } from '../../feature.ts';
import { keysChanged } from './key-store.ts';
import { keysApi } from './keys-api.ts';
import { sessionApi, sessionsApi } from './session-api.ts';
import { forgetLoginAttempts } from './sign-in.ts';
import { usersApi } from './users-api.ts';

export const access: Feature = {
  name: 'access',
  tags: {
    Keys: 'Keys of this API, with scopes and restrictions.',
    Users: 'People who sign in to the console, and their sessions.',
  },
  liveEvents: { key: { scopes: ['admin'], honours: [] } },
  noteChanges: (bus, note) => bus.on(keysChanged, () => note({ type: 'key' })),
  operations: (app) => [...keysApi(app), ...sessionApi(app), ...sessionsApi(app), ...usersApi(app)],
  retention: { always: [forgetLoginAttempts] },
};
