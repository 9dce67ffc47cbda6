import { z } from 'zod';
import {
  type Admission,
  allowedAccounts,
  allowedChats,
  type Caller,
  mayUseAccount,
  mayUseChat,
  RESTRICTIONS,
  refusalOf,
} from '../../core/access/caller.ts';
import { type LiveEvent, type LiveEventTypes, OF_MESSAGES } from '../../core/live/live-event.ts';
import { say } from '../../core/phrases.ts';
import type { App, Feature } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField } from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { EventStream } from './event-stream.ts';

/** Of one caller and node. All browsers that logged in with the admin key are one caller. */
export const MAX_STREAMS = 100;
/** Chats of which a stream remembers whether its key may use them. */
const MAX_KNOWN_CHATS = 1_000;

const eventsQuery = (types: LiveEventTypes) =>
  z.strictObject({
    types: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(Object.keys(types))))
      .optional()
      .describe('Only events of these types, with commas. `ready` and `reset` come always.'),
    accountId: accountIdField
      .optional()
      .describe('Only events of this WhatsApp account, and those of no account. Default: of all.'),
    lastEventId: z
      .string()
      .max(100)
      .optional()
      .describe('As the header `Last-Event-ID`, for clients that cannot set it.'),
  });

type EventFilter = Pick<z.infer<ReturnType<typeof eventsQuery>>, 'types' | 'accountId'>;

/** What changes, as it changes: `/api/events`. */
function eventsApi(app: App): Endpoint[] {
  const streams = new Map<string, number>();

  return [
    endpoint({
      method: 'get',
      path: '/api/events',
      operationId: 'streamEvents',
      tag: 'Live events',
      scopes: 'any-key',
      honours: RESTRICTIONS,
      isPolled: true,
      summary: 'Stream changes of all nodes as server-sent events',
      description:
        'Each event has an id, its type as `event`, and JSON as `data`: `type`, `at`, `accountId`, `chatId` and `id` where there are such, and small facts. It has no text of a message: a client loads what it shows. `ready` says that the stream has begun, `reset` that events were lost: then load everything again. A key gets the events that its scopes and chats allow.',
      query: eventsQuery(app.liveEventTypes),
      headers: { 'last-event-id': 'The last event that the client has; browsers send it by themselves.' },
      responses: {
        200: { description: 'The events, until the client leaves.', contentType: 'text/event-stream' },
        429: { description: `The caller has ${MAX_STREAMS} streams on this node.`, schema: problemSchema },
      },
      handle: ({ caller, query: { lastEventId, ...filter }, header }) => {
        const name = nameOf(caller);
        const count = streams.get(name) ?? 0;
        if (count >= MAX_STREAMS) {
          throw new HttpProblem(429, 'TOO_MANY_STREAMS', say('problem.streams-open', { streams: count }));
        }
        const lastId = header('last-event-id') ?? lastEventId;
        return {
          status: 200,
          stream: (response) => {
            streams.set(name, (streams.get(name) ?? 0) + 1);
            const stream = new EventStream(app.liveEvents, response, filterOf(app, caller, filter));
            const unwatch = app.keyWatch.watch(caller, () => stream.end());
            void stream.run(lastId).finally(() => {
              unwatch();
              const others = (streams.get(name) ?? 1) - 1;
              if (others > 0) streams.set(name, others);
              else streams.delete(name);
            });
          },
        };
      },
    }),
  ];
}

/** For the limit of streams: each key and each browser session has its own. */
function nameOf(caller: Caller): string {
  if (caller.kind === 'key') return `key ${caller.key.id}`;
  return caller.kind === 'session' ? `session ${caller.session.id}` : caller.kind;
}

/** Whether the caller gets an event, and wants it. While the chats cannot be read, it gets none of those that need it. */
function filterOf(
  { chatStore, aliasesOf, liveEventTypes }: App,
  caller: Caller,
  { types, accountId }: EventFilter,
): (event: LiveEvent) => boolean | Promise<boolean> {
  const known = new Map<string, boolean>();
  const mayUse = async (chatId: string): Promise<boolean> => {
    try {
      const chat = await chatStore.get(chatId);
      const isAllowed = chat !== undefined && (await mayUseChat(caller, chat, aliasesOf));
      if (known.size >= MAX_KNOWN_CHATS) known.clear();
      known.set(chatId, isAllowed);
      return isAllowed;
    } catch {
      return false;
    }
  };
  return (event) => {
    const { type, chatId } = event;
    if (type !== 'reset' && types && !types.includes(type)) return false;
    if (accountId !== undefined && event.accountId !== undefined && event.accountId !== accountId)
      return false;
    const isVisible = maySee(liveEventTypes, caller, event);
    if (isVisible !== 'if-its-chat' || chatId === undefined) return isVisible === true;
    return known.get(chatId) ?? mayUse(chatId);
  };
}

const OF_STREAM: Admission = { scopes: 'public' };

export const live: Feature = {
  name: 'live',
  tags: { 'Live events': 'What changes, as it changes.' },
  operations: eventsApi,
  // `ready`: the stream has begun; `reset`: events were lost, so that a client must load again everything that it shows.
  liveEvents: { ready: OF_STREAM, reset: OF_STREAM },
};

/**
 * Whether the caller gets an event; `if-its-chat`: only if it may use the chat of the event. A key that is restricted to some
 * chats or accounts gets events of messages only if they name their chat or account.
 */
export function maySee(
  types: LiveEventTypes,
  caller: Caller,
  event: Pick<LiveEvent, 'type' | 'chatId' | 'accountId'>,
): boolean | 'if-its-chat' {
  const { type, chatId, accountId } = event;
  const known = types[type];
  const admission = typeof known === 'function' ? known(event) : known;
  if (admission === OF_STREAM) return true;
  // A newer version may have other types.
  if (!admission || refusalOf(caller, admission)) return false;
  if (accountId !== undefined && !mayUseAccount(caller, accountId)) return false;
  const hasAccounts = allowedAccounts(caller) !== undefined;
  const isOfMessages = admission === OF_MESSAGES;
  if (isOfMessages && allowedChats(caller)) return chatId === undefined ? false : 'if-its-chat';
  if (hasAccounts && accountId === undefined) return isOfMessages && chatId !== undefined && 'if-its-chat';
  return true;
}
