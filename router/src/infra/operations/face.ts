import { type RequestHandler, Router } from 'express';
import type { Admission } from '../../core/access/admission.ts';

/** A protocol spoken to wa2ai that writes its own responses. It handles every request to its path and below. */
export type Face = Admission & {
  path: string;
  /** False: the path does not exist. @throws {StorageUnavailableError} */
  isOn(): Promise<boolean>;
  handle: RequestHandler;
};

/** @param guardOf returns the handler that sets the caller or refuses the request, before the body is read */
export function mountFace(face: Face, guardOf: (admission: Admission) => RequestHandler): Router {
  const router = Router({ caseSensitive: true });
  const passIfOn: RequestHandler = async (_request, _response, next) =>
    next((await face.isOn()) ? undefined : 'router');
  router.use(face.path, passIfOn, guardOf(face), face.handle);
  return router;
}
