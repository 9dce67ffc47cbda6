import { type Conversation, conversationOf, originsOf, type SettingOrigin } from '../policies/settings.ts';
import { type RouteDeps, routeMessage } from './route-message.ts';
import type { NoRouteReason } from './route-table.ts';
import type { MessageToRoute } from './when-facts.ts';

/** How wa2ai converses in a chat, and who decided about each value. */
export interface PolicyOfChat {
  /** The route that takes the message; absent when none does. */
  route?: { id: string; name?: string; channelId: string };
  /** Why no route takes it. */
  reason?: NoRouteReason;
  settings: Conversation;
  /** By path: `reply.format`. */
  origins: Record<string, SettingOrigin>;
}

/**
 * The settings that apply to a message. Where no route takes it, they are the defaults.
 * @throws {StorageUnavailableError} routes or settings could not be read
 */
export async function policyOfChat(deps: RouteDeps, message: MessageToRoute): Promise<PolicyOfChat> {
  const choice = await routeMessage(deps, message);
  const route = choice.kind === 'route' ? choice.route : undefined;
  const defaults = await deps.conversation();
  return {
    ...(route && {
      route: {
        id: route.id,
        ...(route.name !== undefined && { name: route.name }),
        channelId: route.channelId,
      },
    }),
    ...(choice.kind === 'none' && { reason: choice.reason }),
    settings: conversationOf(route, defaults),
    origins: originsOf(route, defaults),
  };
}
