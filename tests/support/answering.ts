import type { Clock } from '../../router/src/core/clock.ts';
import type { AgentResponse, FailurePolicy, IncomingMessage } from '../../router/src/core/models.ts';
import type { Inbox } from '../../router/src/core/ports/inbox.ts';
import type { AnswerDeps } from '../../router/src/core/turns/answer-message.ts';
import { CircuitBreakers } from '../../router/src/core/turns/ask-agent.ts';
import { MemoryChatStore } from '../doubles/memory-chat-store.ts';
import { MemoryRouteStore } from '../doubles/memory-route-store.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { recordingLog } from './quiet-log.ts';
import { aRoute, NO_CONDITIONS } from './routes.ts';
import { shaping } from './shaping.ts';

export interface AnsweringOptions {
  inbox: Inbox;
  clock: Clock;
  stopping?: AbortSignal;
  /** The agent of every chat. Default: answers `re <text>`. */
  agent?(message: IncomingMessage, isRepeat: boolean): Promise<AgentResponse>;
  /** What the client of the agent does before its request, which is not counted when this fails. */
  beforeRequest?(message: IncomingMessage): Promise<void>;
  /** The failure settings of the route. */
  failure?: FailurePolicy;
}

let replies = 0;

/** What answers messages of every chat, with one route to one agent, and replies that are stored and not delivered. */
export function answerDeps({
  inbox,
  clock,
  stopping,
  agent,
  beforeRequest,
  failure,
}: AnsweringOptions): AnswerDeps {
  const routes = new MemoryRouteStore();
  const route = aRoute({ accountId: 'default', channelId: '*', config: { failure } });
  const ask = agent ?? (async ({ text }) => ({ success: true, response: `re ${text}` }));
  return {
    inbox,
    routes: Object.assign(routes, { candidates: async () => [route] }),
    matcher: { test: async () => 'match' },
    environment: 'lab',
    agents: {
      endpointOf: ({ agentEndpoint }) => agentEndpoint,
      clientFor: () => ({
        async sendMessage(_endpoint, message, options) {
          await beforeRequest?.(message);
          await options?.beforeRequest?.();
          return ask(message, options?.isRepeat ?? false);
        },
      }),
    },
    policy: {
      tryForMs: 0,
      backoffMs: (_attempt, waitMs = 0) => waitMs,
    },
    circuits: new CircuitBreakers(),
    ...NO_CONDITIONS,
    ...shaping(),
    policies: [],
    chatStore: new MemoryChatStore(new MemoryState()),
    accountStore: { load: async () => ({ state: 'open', generation: 1 }) },
    mintId: () => `WA${++replies}`,
    media: { load: () => Promise.reject(new Error('the test has no files')), urlOf: async () => undefined },
    replyTokens: { issue: async () => 'token' },
    history: { pastTurns: async () => [], unanswered: async () => [] },
    accounts: { delivery: () => undefined },
    bus: { publish: () => undefined },
    clock,
    log: recordingLog(),
    stopping: stopping ?? new AbortController().signal,
  };
}
