import { call, type Schemas, urlOf } from '../../api/call.ts';
import type { PlayChat } from './people.ts';

/** Invents a person or a group. @throws {Problem} */
export async function createChat(body: Schemas['NewPlaygroundChat']): Promise<PlayChat> {
  return (await call('POST /api/playground/chats', { body })).data;
}

/** Deletes a chat and makes it again with the same people and route. @throws {Problem} */
export async function resetChat(chat: PlayChat): Promise<PlayChat> {
  await call('DELETE /api/playground/chats/{id}', { path: { id: chat.id } });
  const { kind, name, people, routeId } = chat;
  return createChat({
    ...{ kind, name },
    ...(kind === 'group' ? { people } : { phone: chat.channelId }),
    ...(routeId !== undefined && { routeId }),
  });
}

/** Makes a route that only the playground uses. @throws {Problem} */
export async function createRoute(route: Record<string, unknown>): Promise<string> {
  const body = { channelId: '*', ...route, accountId: 'playground' } as Schemas['NewRoute'];
  return (await call('POST /api/routes', { body })).data.id;
}

/** The route of the playground to the echo agent, made unless there is one. @throws {Problem} */
export async function echoRoute(): Promise<string> {
  const { data } = await call('GET /api/routes', { query: { accountId: 'playground' } });
  const found = data.find(({ config, enabled }) => enabled && 'echo' in config);
  return found ? found.id : createRoute({ name: 'echo', config: { echo: {} } });
}

/** Where the file of a message is. */
export function fileUrlOf({ id }: PlayChat, waMessageId: string): string {
  return urlOf('GET /api/playground/chats/{id}/files/{waMessageId}', { path: { id, waMessageId } });
}
