import { type RequestHandler, Router } from 'express';
import type { Scope } from '../../../core/access/scopes.ts';
import { authorize } from './guard.ts';

/** A protocol spoken to wa2ai that writes its own responses. It handles every request to its path and below. */
export interface Face {
  path: string;
  /** What a key needs. `public`: needs no key. */
  scopes: 'public' | readonly [Scope, ...Scope[]];
  /** False: the path does not exist. @throws {StorageUnavailableError} */
  isOn(): Promise<boolean>;
  handle: RequestHandler;
}

/** @param guardOf returns the handler that sets the caller or refuses the request, before the body is read */
export function mountFace(
  { path, scopes, isOn, handle }: Face,
  guardOf: (path: { isPublic: boolean }) => RequestHandler,
): Router {
  const router = Router({ caseSensitive: true });
  const isPublic = scopes === 'public';
  const passIfOn: RequestHandler = async (_request, _response, next) =>
    next((await isOn()) ? undefined : 'router');
  router.use(path, passIfOn, guardOf({ isPublic }), ...(isPublic ? [] : [authorize(scopes)]), handle);
  return router;
}
