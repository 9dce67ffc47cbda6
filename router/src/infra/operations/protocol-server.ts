import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { isLoopbackHost } from '../../config/config-fields.ts';
import type { Admission } from '../../core/access/caller.ts';
import type { SettingsStore } from '../../core/ports/settings-store.ts';

/** A protocol spoken to wa2ai that writes its own responses. It handles every request to its path and below. */
export type ProtocolServer = Admission & {
  path: string;
  /** False: the path does not exist. @throws {StorageUnavailableError} */
  isOn(): Promise<boolean>;
  handle: RequestHandler;
};

/** @param guardOf returns the handler that sets the caller or refuses the request, before the body is read */
export function mountServer(
  server: ProtocolServer,
  guardOf: (admission: Admission) => RequestHandler,
): Router {
  const router = Router({ caseSensitive: true });
  const passIfOn: RequestHandler = async (_request, _response, next) =>
    next((await server.isOn()) ? undefined : 'router');
  router.use(server.path, passIfOn, guardOf(server), server.handle);
  return router;
}

/** Servers that admins switch on and off. */
export type SwitchedServer = 'a2a' | 'mcp';

export const serverSwitch = z
  .strictObject({ enabled: z.boolean().describe('Whether wa2ai answers at this address.') })
  .meta({ id: 'ServerSwitch', examples: [{ enabled: true }] });

/** A server may store more than its switch. */
const storedSwitch = z.object({ enabled: z.boolean() });

/**
 * Whether wa2ai runs a server. While nobody has decided, it does on loopback only.
 * @throws {StorageUnavailableError}
 */
export async function isServerOn(
  settings: Pick<SettingsStore, 'get'>,
  server: SwitchedServer,
  host: string,
): Promise<boolean> {
  return isOnIn(await settings.get(server), host);
}

/** The same by what is stored for the server. */
export function isOnIn(settings: unknown, host: string): boolean {
  const stored = storedSwitch.safeParse(settings);
  return stored.success ? stored.data.enabled : isLoopbackHost(host);
}
