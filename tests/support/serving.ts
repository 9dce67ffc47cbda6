import type { Clock } from '../../router/src/core/clock.ts';
import { NodeBus } from '../../router/src/core/cluster/node-bus.ts';
import { sendMessage } from '../../router/src/core/delivery/send-message.ts';
import type { AgentResponse, Route } from '../../router/src/core/models.ts';
import { CircuitBreakers } from '../../router/src/core/turns/ask-agent.ts';
import { serveTask } from '../../router/src/features/tasks/serve-task.ts';
import type { ServedRequest } from '../../router/src/features/tasks/served-tasks.ts';
import { servedTaskChanged, TaskFeed } from '../../router/src/features/tasks/task-feed.ts';
import { questionChanged } from '../../router/src/infra/db/stores/postgres-questions.ts';
import { DirectSteps } from '../doubles/direct-steps.ts';
import { MemoryMessageLog } from '../doubles/memory-message-log.ts';
import { MemoryOutbox } from '../doubles/memory-outbox.ts';
import { MemoryQuestions } from '../doubles/memory-questions.ts';
import { MemoryRouteStore } from '../doubles/memory-route-store.ts';
import { MemoryServedTasks } from '../doubles/memory-served-tasks.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { serviceWith } from './app-with.ts';
import { FakeClock } from './fake-clock.ts';
import { quietLog } from './quiet-log.ts';
import { shaping } from './shaping.ts';

/** What a test decides about the agent behind a route. */
export interface ServingOptions {
  /** Default: a clock that does not advance. */
  clock?: Clock;
  agent?(
    text: string,
    signal: AbortSignal | undefined,
    isRepeat: boolean,
    endpoint: string,
  ): Promise<AgentResponse>;
}

/** Everything that does served tasks, in memory, on a clock that the test moves. */
export function serving({ agent, clock: given }: ServingOptions = {}) {
  const fakeClock = new FakeClock();
  const clock = given ?? fakeClock;
  const state = new MemoryState(() => clock.now());
  const bus = new NodeBus('n1', () => ({ publish: () => undefined }));
  const servedTasks = new MemoryServedTasks(
    () => clock.now(),
    (taskId) => bus.broadcast(servedTaskChanged({ taskId })),
  );
  const questions = new MemoryQuestions(state, (taskId) => bus.broadcast(questionChanged({ taskId })));
  const outbox = new MemoryOutbox(state);
  const routes = new MemoryRouteStore(() => clock.now());
  const feed = new TaskFeed({ servedTasks, bus, clock, log: quietLog });
  let ids = 0;
  const service = serviceWith({
    servedTasks,
    questions,
    taskFeed: feed,
    routes,
    clock,
    shaping: shaping(),
    logOf: () => quietLog,
    messageLog: new MemoryMessageLog(state),
    sendMessage: (input) => {
      const mintId = () => `3EB0${ids++}`;
      return sendMessage({ outbox, mintId, deliver: () => undefined }, input);
    },
    agents: {
      endpointOf: (route: Route) => route.agentEndpoint,
      clientFor: () => ({
        sendMessage: async (endpoint, { text }, options) => {
          await options?.beforeRequest?.();
          return (
            (await agent?.(text, options?.signal, options?.isRepeat ?? false, endpoint)) ?? { success: true }
          );
        },
      }),
    },
    failureDefaults: { tryForMs: 0, backoffMs: () => 0 },
    circuits: new CircuitBreakers(() => undefined),
  });
  const open = async (request: ServedRequest) => {
    const { task } = await servedTasks.open({
      id: `task-${ids++}`,
      contextId: 'c1',
      owner: 'key-1',
      request,
      message: { messageId: `m-${ids++}`, text: request.text },
    });
    return task.id;
  };
  const start = (taskId: string, steps = new DirectSteps()) => serveTask(service, steps, { taskId });
  /** Texts to send, oldest first. */
  const sent = () => [...state.outbox.values()].map(({ text }) => text);
  return {
    clock: fakeClock,
    state,
    bus,
    servedTasks,
    questions,
    outbox,
    routes,
    feed,
    service,
    open,
    start,
    sent,
  };
}
