import type { z } from 'zod';
import type { Scope } from '../../core/access/scopes.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { changedResponse, dataResponse } from './fields.ts';
import type { IfMatch } from './response.ts';

/** Settings that the database has as one value, for all nodes. */
interface StoredSettings<Body> {
  /** Last part of the path `/api/settings/{name}`. */
  name: string;
  /** Of the names of the operations, such as `Governor` for `getGovernorSettings`. */
  id: string;
  tag: string;
  scopes: readonly [Scope];
  /** Summaries of the two operations. */
  shows: string;
  replaces: string;
  description?: string;
  body: z.ZodType<Body>;
  view: z.ZodType;
  /** What `view` describes, as it is now. */
  show(): Promise<unknown>;
  /**
   * Stores other settings. `ifMatch` gets what `show` returned before, in the transaction of the change.
   * @returns what `show` returns from then on, with a message other than "Settings stored."
   * @throws {HttpProblem} the settings contain a mistake that `body` does not find
   */
  replace(body: Body, ifMatch: IfMatch | undefined): Promise<{ data: unknown; message?: string }>;
}

/** The operations of stored settings: `GET` shows them, `PUT` replaces them on all nodes. */
export function settingsOperations<Body>({
  name,
  id,
  tag,
  scopes,
  shows,
  replaces,
  description,
  body,
  view,
  show,
  replace,
}: StoredSettings<Body>): Endpoint[] {
  const common = { tag, path: `/api/settings/${name}`, scopes, honours: [] as const, etag: true as const };
  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: `get${id}Settings`,
      summary: shows,
      responses: { 200: { description: 'The settings.', schema: dataResponse(view) } },
      handle: async () => ({ status: 200, json: { success: true, data: await show() } }),
    }),
    endpoint({
      ...common,
      method: 'put',
      operationId: `put${id}Settings`,
      summary: replaces,
      ...(description !== undefined && { description }),
      body,
      responses: { 200: { description: 'The stored settings.', schema: changedResponse(view) } },
      handle: async (call) => {
        const { data, message = 'Settings stored.' } = await replace(call.body, call.ifMatch);
        return { status: 200, object: name, json: { success: true, message, data } };
      },
    }),
  ];
}
