import { z } from 'zod';
import { ROLES, userKeyOf } from '../../core/access/caller.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { ConsoleUser } from '../../core/ports/access.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  optionalPageQuery,
  pageOfAll,
  pageResponse,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import { hashedPassword } from './session-api.ts';

/** What a name may consist of: it is part of a path, and people type it. */
export const userNameField = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/, PHRASES['field.user-name']);

const roleField = z
  .enum(ROLES)
  .describe(
    '`owner`: everything. `operator`: everything but keys, users, the audit log and the settings of wa2ai. `viewer`: reads routes, messages and accounts.',
  );

const passwordField = z
  .string()
  .min(1)
  .max(1_024)
  .describe('At least 12 characters, 5 of them different. wa2ai stores an argon2id hash of it.');

const newUserBody = z.strictObject({ name: userNameField, password: passwordField, role: roleField }).meta({
  id: 'NewUser',
  examples: [{ name: 'ana', password: 'correct horse battery', role: 'operator' }],
});

const changeBody = z
  .strictObject({
    role: roleField.optional(),
    password: passwordField.optional(),
    enabled: z.boolean().optional().describe('`false`: the user cannot sign in, and has no sessions.'),
  })
  .refine((change) => Object.keys(change).length > 0, PHRASES['field.change-something'])
  .meta({ id: 'UserChange', examples: [{ role: 'viewer' }] });

const userView = z
  .object({
    name: z.string(),
    role: z.enum(ROLES),
    createdAt: timeView,
    enabled: z.boolean(),
    disabledAt: timeView.optional(),
  })
  .meta({ id: 'User' });

/** People who sign in to the console: `/api/users`. */
export function usersApi({ users, sessions, presence, passwords, log }: App): Endpoint[] {
  const common = { tag: 'Users', scopes: ['admin'] as const, honours: [] as const };
  const params = { name: 'Name of the user; upper and lower case are the same.' };
  const notFound = { description: 'No such user.', schema: problemSchema };
  const lastOwner = { description: 'It is the last owner.', schema: problemSchema };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/users',
      operationId: 'listUsers',
      summary: 'List users by name',
      query: z.strictObject(optionalPageQuery),
      responses: { 200: { description: 'The users.', schema: pageResponse(userView) } },
      handle: async ({ query }) => ({
        status: 200,
        json: pageOfAll((await users.all()).map(viewOf), query, ({ name }) => name),
      }),
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/users',
      operationId: 'createUser',
      summary: 'Add a user; the first one must be an owner',
      description: 'Without an admin key, calls of this machine need a login from the first user on.',
      body: newUserBody,
      creates: {},
      responses: {
        201: { description: 'The user.', schema: changedResponse(userView) },
        409: { description: 'The name is taken.', schema: problemSchema },
      },
      handle: async ({ body: { name, password, role } }) => {
        const passwordHash = await hashedPassword(passwords, password, name, 'password');
        const created = await users.create({ name, role, passwordHash });
        if (created === 'exists') {
          throw new HttpProblem(409, 'USER_EXISTS', say('problem.user-exists'));
        }
        if (created === 'owner-first') {
          throw invalid('body', [mistakeAt('role', say('field.owner'))]);
        }
        await presence.refresh();
        log.info({ role }, 'user added');
        return {
          status: 201,
          object: name,
          headers: { location: `/api/users/${encodeURIComponent(name)}` },
          json: { success: true, message: 'User added.', data: viewOf(created) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'patch',
      path: '/api/users/{name}',
      operationId: 'changeUser',
      summary: 'Change the role or the password of a user, or disable the user',
      description: 'A new password ends the sessions of the user.',
      params,
      body: changeBody,
      oldNames: { isDisabled: '!enabled' },
      responses: {
        200: { description: 'The user.', schema: changedResponse(userView) },
        404: notFound,
        409: lastOwner,
      },
      handle: async ({ params: { name = '' }, body, caller }) => {
        const { password, enabled, ...rest } = body;
        const change = { ...rest, ...(enabled !== undefined && { isDisabled: !enabled }) };
        const own = caller.kind === 'session' ? caller.session.user?.name : undefined;
        if (password !== undefined && own !== undefined && userKeyOf(own) === userKeyOf(name)) {
          throw invalid('body', [mistakeAt('password', say('field.own-password'))]);
        }
        const passwordHash =
          password === undefined ? undefined : await hashedPassword(passwords, password, name, 'password');
        const changed = await users.change(name, { ...change, ...(passwordHash && { passwordHash }) });
        if (changed === 'unknown') throw noSuchUser();
        if (changed === 'last-owner') throw isLastOwner();
        if (passwordHash !== undefined) await sessions.endAllOf(name);
        log.info({ changed: Object.keys(body) }, 'user changed');
        return {
          status: 200,
          object: changed.name,
          json: { success: true, message: 'User changed.', data: viewOf(changed) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/users/{name}',
      operationId: 'deleteUser',
      summary: 'Delete a user and end the sessions',
      params,
      responses: {
        200: {
          description: 'The user is gone.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        404: notFound,
        409: lastOwner,
      },
      handle: async ({ params: { name = '' } }) => {
        const deleted = await users.delete(name);
        if (deleted === 'unknown') throw noSuchUser();
        if (deleted === 'last-owner') throw isLastOwner();
        // The rows are gone with the user; this clears the copy of this node.
        await sessions.endAllOf(name);
        log.info({}, 'user deleted');
        return { status: 200, object: name, json: { success: true, message: 'User deleted.' } };
      },
    }),
  ];
}

function viewOf(user: ConsoleUser) {
  return shown(userView, { ...user, enabled: user.disabledAt === undefined });
}

function noSuchUser(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-user'));
}

function isLastOwner(): HttpProblem {
  return new HttpProblem(409, 'LAST_OWNER', say('problem.last-owner'));
}
