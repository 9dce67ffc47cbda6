import type { Schemas } from '../../api/call.ts';
import { draftOf, newRouteOf, patchOf, type RouteDraft } from './route-draft.ts';

/** The body of POST /api/routes; the service checks the config. */
export function createBody(draft: RouteDraft): Schemas['NewRoute'] {
  return newRouteOf(draft) as Schemas['NewRoute'];
}

/** The body of PATCH /api/routes/{id}. */
export function patchBody(before: Schemas['Route'], draft: RouteDraft): Schemas['RoutePatch'] {
  return patchOf(draftOf(before), draft) as Schemas['RoutePatch'];
}
