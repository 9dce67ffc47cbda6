import { z } from 'zod';
import { type Admission, RESTRICTIONS } from '../../core/access/admission.ts';
import { type Caller, mayDo } from '../../core/access/caller.ts';
import { userKeyOf } from '../../core/access/user-key.ts';
import type { ConsoleSession, ConsoleSessions } from '../../core/ports/console-sessions.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { changedResponse } from '../../infra/operations/fields.ts';
import { admit } from '../../infra/operations/guard.ts';
import { optionalPageQuery, pageOfAll, pageResponse } from '../../infra/operations/paging.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { sessionView, sessionViewOf } from './session-view.ts';

export interface SessionsApiDeps {
  sessions: Pick<ConsoleSessions, 'all' | 'end' | 'endAllOf'>;
}

/** For sessions of others. */
const ADMIN: Admission = { scopes: ['admin'], honours: [] };

const userField = z.string().min(1).max(200).optional();

const listQuery = z.strictObject({
  user: userField.describe('Only sessions of this user. Those of others need the scope `admin`.'),
  ...optionalPageQuery,
});

const endQuery = z.strictObject({
  user: userField.describe("Whose sessions end. Default: the caller's own, except the current one."),
});

/** Browsers that are signed in: `/api/sessions`. Without the scope `admin` one sees and ends one's own. */
export function sessionsApi({ sessions }: SessionsApiDeps): Endpoint[] {
  const common = { tag: 'Users' as const, scopes: 'any-key' as const, honours: RESTRICTIONS };
  const refused = { description: 'Nobody is signed in.', schema: problemSchema };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/sessions',
      operationId: 'listSessions',
      summary: "List sessions, oldest first: one's own, with the scope admin all",
      query: listQuery,
      responses: {
        200: { description: 'The sessions.', schema: pageResponse(sessionView) },
        401: refused,
      },
      handle: async ({ caller, query }) => {
        const shown = (await visible(caller)).filter(
          ({ user }) => query.user === undefined || (user && userKeyOf(user.name) === userKeyOf(query.user)),
        );
        return {
          status: 200,
          json: pageOfAll(
            shown.map((session) => sessionViewOf(session, caller)),
            query,
            ({ id }) => id,
          ),
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/sessions',
      operationId: 'endSessions',
      summary: 'End all sessions of a user on all nodes, or all own ones but the current one',
      query: endQuery,
      responses: {
        200: {
          description: 'How many have ended.',
          schema: z.object({ success: z.literal(true), message: z.string(), ended: z.int() }),
        },
        401: refused,
      },
      handle: async ({ caller, query: { user } }) => {
        const own = caller.kind === 'session' ? caller.session : undefined;
        const isOwn = user === undefined || (own?.user && userKeyOf(own.user.name) === userKeyOf(user));
        if (!own || !isOwn) admit(caller, ADMIN);
        if (!own && user === undefined) {
          throw new HttpProblem(400, 'INVALID_QUERY', 'Name the user whose sessions end.');
        }
        const ended = await sessions.endAllOf(user ?? own?.user?.name, isOwn ? own?.id : undefined);
        return {
          status: 200,
          ...(user !== undefined && { object: user }),
          json: { success: true, message: 'Sessions ended.', ended },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/sessions/{id}',
      operationId: 'endSession',
      summary: 'End a session on all nodes',
      params: { id: 'Id of the session.' },
      responses: {
        200: { description: 'The session that has ended.', schema: changedResponse(sessionView) },
        401: refused,
        404: { description: 'No such session, or one of another user.', schema: problemSchema },
      },
      handle: async ({ caller, params }) => {
        const session = (await visible(caller)).find(({ id }) => id === params.id);
        if (!session || !(await sessions.end(session.id))) {
          throw new HttpProblem(404, 'NOT_FOUND', 'There is no session with this id.');
        }
        const data = sessionViewOf(session, caller);
        return { status: 200, json: { success: true, message: 'Session ended.', data } };
      },
    }),
  ];

  async function visible(caller: Caller): Promise<ConsoleSession[]> {
    if (caller.kind !== 'session') admit(caller, ADMIN);
    const all = await sessions.all();
    if (mayDo(caller, 'admin') || caller.kind !== 'session') return all;
    const name = caller.session.user?.name;
    return all.filter(({ user }) => user?.name === name);
  }
}
