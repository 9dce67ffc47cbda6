import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { isLoopbackHost } from '../../config/config-fields.ts';
import type { Admission } from '../../core/access/caller.ts';
import type { FaceSettings } from '../../core/ports/face-settings.ts';

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

/** Faces that admins switch on and off. */
export type SwitchedFace = 'a2a' | 'mcp';

export const faceSwitch = z
  .strictObject({ enabled: z.boolean().describe('Whether wa2ai answers on this face.') })
  .meta({ id: 'FaceSwitch', examples: [{ enabled: true }] });

/** A face may store more than its switch. */
const storedSwitch = z.object({ enabled: z.boolean() });

/**
 * Whether wa2ai answers on a face. While nobody has decided, it does on loopback only.
 * @throws {StorageUnavailableError}
 */
export async function isFaceOn(
  settings: Pick<FaceSettings, 'get'>,
  face: SwitchedFace,
  host: string,
): Promise<boolean> {
  return isOnIn(await settings.get(face), host);
}

/** The same by what is stored for the face. */
export function isOnIn(settings: unknown, host: string): boolean {
  const stored = storedSwitch.safeParse(settings);
  return stored.success ? stored.data.enabled : isLoopbackHost(host);
}
