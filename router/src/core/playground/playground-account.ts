import type { Route } from '../models.ts';
import type { Playground } from '../ports/playground.ts';
import type { RouteStore } from '../ports/route-store.ts';

/** The account of the playground: its id, and the name of its provider. */
export const PLAYGROUND = 'playground';

/**
 * The number of the playground's account. No phone has one that begins with 999: the country code is not assigned (ITU-T
 * E.164, list of assigned codes).
 */
export const PLAYGROUND_PHONE = '999000000000';

const REFERENCE = `${PLAYGROUND}:`;

/** How a message of the playground names its file. */
export function playgroundReference(fileId: string): string {
  return `${REFERENCE}${fileId}`;
}

/** The id of the file; undefined: the reference is of another provider. */
export function playgroundFileId(reference: string): string | undefined {
  return reference.startsWith(REFERENCE) ? reference.slice(REFERENCE.length) : undefined;
}

/** A number for an invented person. @param random uniform in [0, 1) */
export function inventedPhone(random: () => number): string {
  return `9991${digits(random, 8)}`;
}

/** An id for an invented group. @param random uniform in [0, 1) */
export function inventedGroupId(random: () => number): string {
  return `999${digits(random, 15)}`;
}

function digits(random: () => number, count: number): string {
  return Array.from({ length: count }, () => Math.floor(random() * 10)).join('');
}

/** The route that a chat names; `route` is absent when it was deleted. */
export interface NamedRoute {
  routeId: string;
  route?: Route;
}

/**
 * The route that a chat of the playground names instead of the route table: of any account, also when it is disabled or
 * belongs to the other environment, so that an operator can try a route before people reach it.
 * @returns undefined: the table decides
 * @throws {StorageUnavailableError}
 */
export async function namedRoute(
  { playground, routes }: { playground: Pick<Playground, 'chatAt'>; routes: Pick<RouteStore, 'get'> },
  { accountId, channelIds }: { accountId: string; channelIds: readonly string[] },
): Promise<NamedRoute | undefined> {
  const [channelId] = channelIds;
  if (accountId !== PLAYGROUND || channelId === undefined) return undefined;
  const routeId = (await playground.chatAt(channelId))?.routeId;
  if (routeId === undefined) return undefined;
  const route = await routes.get(routeId);
  return { routeId, ...(route && { route }) };
}
