import { z } from 'zod';
import { type Caller, scopesOf } from '../../core/access/caller.ts';
import { ROLES } from '../../core/access/roles.ts';
import { SCOPES } from '../../core/access/scopes.ts';
import type { ConsoleSession } from '../../core/ports/console-sessions.ts';
import { timeView } from '../../infra/operations/fields.ts';

/** Who calls, as `GET /api/session` shows it. */
export const callerView = z
  .object({
    kind: z
      .enum(['admin-key', 'user', 'key', 'loopback', 'local-socket'])
      .describe(
        '`admin-key`: WA2AI_API_KEY, also by a session. `user`: a session of a user. `key`: a key of the API. `loopback`: this machine, while no login is set up. `local-socket`: the user of the service, over its socket file.',
      ),
    name: z.string().optional().describe('Of the user or the key.'),
    role: z.enum(ROLES).optional().describe('Of the user.'),
    scopes: z.array(z.enum(SCOPES)).describe('What the caller may do.'),
    sessionId: z.string().optional().describe('Of the session, when there is one.'),
    isFirstRun: z
      .boolean()
      .describe(
        'No login is set up: everybody on this machine can do everything. `POST /api/users` adds the owner.',
      ),
    csrfHeader: z.string().describe('With a session, each change needs this header with the value `1`.'),
  })
  .meta({ id: 'SessionCaller' });

/** A session in a list. */
export const sessionView = z
  .object({
    id: z.string(),
    kind: z.enum(['admin-key', 'user']),
    user: z.string().optional().describe('Name of the user.'),
    createdAt: timeView,
    lastSeenAt: timeView.describe('Of its last request, to a minute. It ends 12 hours later.'),
    expiresAt: timeView.describe('It ends then in any case.'),
    userAgent: z.string().optional().describe('What the browser says it is.'),
    address: z
      .string()
      .optional()
      .describe('From which it was signed in: of the browser, or of the proxy before it.'),
    isCurrent: z.boolean().describe('It is the session of this call.'),
  })
  .meta({ id: 'Session' });

/** @param caller not a stranger */
export function callerViewOf(caller: Caller, csrfHeader: string): z.input<typeof callerView> {
  const common = { scopes: [...scopesOf(caller)], isFirstRun: caller.kind === 'loopback', csrfHeader };
  switch (caller.kind) {
    case 'key':
      return { kind: 'key', name: caller.key.name, ...common };
    case 'session': {
      const { id, user } = caller.session;
      return user
        ? { kind: 'user', name: user.name, role: user.role, sessionId: id, ...common }
        : { kind: 'admin-key', sessionId: id, ...common };
    }
    default:
      if (caller.kind === 'stranger') throw new TypeError('a stranger has no view');
      return { kind: caller.kind, ...common };
  }
}

/** Field by field: a stored session also has its hashes. */
export function sessionViewOf(session: ConsoleSession, caller: Caller): z.input<typeof sessionView> {
  const { id, user, createdAt, lastSeenAt, expiresAt, userAgent, address } = session;
  return {
    id,
    kind: user ? 'user' : 'admin-key',
    ...(user && { user: user.name }),
    createdAt: createdAt.toISOString(),
    lastSeenAt: lastSeenAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    ...(userAgent !== undefined && { userAgent }),
    ...(address !== undefined && { address }),
    isCurrent: caller.kind === 'session' && caller.session.id === id,
  };
}
