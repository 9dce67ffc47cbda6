import { z } from 'zod';
import { isLoopbackHost } from '../../../config/config-fields.ts';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';

const A2A_FACE = 'a2a';

export const a2aSettings = z
  .strictObject({ enabled: z.boolean().describe('Whether wa2ai answers A2A clients.') })
  .meta({ id: 'A2aSettings', examples: [{ enabled: true }] });

export type A2aSettings = z.output<typeof a2aSettings>;

/**
 * Whether wa2ai answers A2A clients. While nobody has decided, it does on loopback only.
 * @throws {StorageUnavailableError}
 */
export async function isA2aOn(settings: Pick<FaceSettings, 'get'>, host: string): Promise<boolean> {
  const stored = a2aSettings.safeParse(await settings.get(A2A_FACE));
  return stored.success ? stored.data.enabled : isLoopbackHost(host);
}

export function storeA2aSettings(settings: Pick<FaceSettings, 'put'>, given: A2aSettings): Promise<void> {
  return settings.put(A2A_FACE, given);
}
