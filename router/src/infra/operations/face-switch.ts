import { z } from 'zod';
import { isLoopbackHost } from '../../config/config-fields.ts';
import type { FaceSettings } from '../../core/ports/face-settings.ts';

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
