import { createHash, randomUUID } from 'node:crypto';
import {
  A2AError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { allowedRoutes, mayUseChat, RESTRICTIONS, type Restriction } from '../../core/access/caller.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { auditedCaller } from '../../core/ports/audit-log.ts';
import type { App, Service } from '../../feature.ts';
import { admit, maxOpenTasksOf, TOO_MANY_TASKS } from '../../infra/operations/guard.ts';
import {
  choosePerson,
  chooseSkill,
  type SharedRoute,
  serveTaskStart,
  sharedRoutes,
} from '../tasks/serve-task.ts';
import { isEnd, type NewUpdate, type ServedRequest, type ServedTask } from '../tasks/served-tasks.ts';
import { isSettled, untilSettled } from '../tasks/task-feed.ts';
import { A2aCaller, agentCard } from './a2a-card.ts';
import { type A2aInput, eventsOf, inputOf, type StreamEvent, stateOf, taskOf } from './a2a-wire.ts';
import { hookConfig, refuseHookUrl, setHook } from './push-updates.ts';

/** A call that waits for the end of its task gets the task as it is after this. */
const MAX_BLOCKING_MS = 300_000;
const MAX_PAGE = 100;

/** The operations, with whom each lets in. A task belongs to the caller who opened it, and is of no other chat or route. */
const OPERATIONS = {
  getExtendedAgentCard: reads(RESTRICTIONS),
  sendMessage: changes(RESTRICTIONS),
  sendMessageStream: changes(RESTRICTIONS),
  resubscribe: reads(RESTRICTIONS),
  getTask: reads(RESTRICTIONS),
  listTasks: reads(RESTRICTIONS),
  cancelTask: changes(RESTRICTIONS),
  createTaskPushNotificationConfig: changes(RESTRICTIONS),
  getTaskPushNotificationConfig: reads(RESTRICTIONS),
  listTaskPushNotificationConfigs: reads(RESTRICTIONS),
  deleteTaskPushNotificationConfig: changes(RESTRICTIONS),
};

function reads(honours: readonly Restriction[]) {
  return { kind: 'read' as const, scopes: ['a2a'] as const, honours };
}

function changes(honours: readonly Restriction[]) {
  return { kind: 'change' as const, scopes: ['a2a'] as const, honours };
}

type Params<Method extends keyof A2ARequestHandler> = Parameters<A2ARequestHandler[Method]>[0];
type Result<Method extends keyof A2ARequestHandler> = Awaited<ReturnType<A2ARequestHandler[Method]>>;

/**
 * wa2ai as an A2A agent. Every state is in the database, so any node answers any call: a stream follows the task wherever it
 * is done. A caller sees its own tasks only.
 */
export class A2aHandler implements A2ARequestHandler {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  async getAgentCard(): Promise<Result<'getAgentCard'>> {
    return agentCard({ baseUrl: 'http://localhost', needsKey: needsKey(this.#service) });
  }

  getAuthenticatedExtendedAgentCard(
    _params: Params<'getAuthenticatedExtendedAgentCard'>,
    context: ServerCallContext,
  ): Promise<Result<'getAgentCard'>> {
    return this.#call('getExtendedAgentCard', context, async (caller) => {
      const shared = await usableRoutes(this.#service, caller);
      const routes = shared.map(({ skill, route }) => ({ skill, name: route.name ?? 'an agent' }));
      return agentCard({ baseUrl: caller.baseUrl, needsKey: needsKey(this.#service), routes });
    });
  }

  sendMessage(params: Params<'sendMessage'>, context: ServerCallContext): Promise<Result<'sendMessage'>> {
    return this.#call('sendMessage', context, async (caller) => {
      const task = await this.#accept(params, context, caller);
      const { returnImmediately = false, historyLength } = params.configuration ?? {};
      return taskOf(returnImmediately ? task : await this.#settled(task, caller), historyLength);
    });
  }

  async *sendMessageStream(
    params: Params<'sendMessageStream'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const [task, caller] = await this.#call('sendMessageStream', context, async (by) => {
      return [await this.#accept(params, context, by), by] as const;
    });
    yield* this.#events(task, caller);
  }

  async *resubscribe(
    { id }: Params<'resubscribe'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const [task, caller] = await this.#call('resubscribe', context, async (by) => {
      const found = await this.#find(id, by);
      if (isEnd(found.state)) throw new UnsupportedOperationError(`The task has ended: ${found.state}.`);
      return [found, by] as const;
    });
    yield* this.#events(task, caller);
  }

  getTask({ id, historyLength }: Params<'getTask'>, context: ServerCallContext): Promise<Result<'getTask'>> {
    return this.#call('getTask', context, async (caller) =>
      taskOf(await this.#find(id, caller), historyLength),
    );
  }

  listTasks(params: Params<'listTasks'>, context: ServerCallContext): Promise<Result<'listTasks'>> {
    return this.#call('listTasks', context, async ({ owners }) => {
      const { contextId, status, pageSize = 50, pageToken, historyLength, statusTimestampAfter } = params;
      if (pageSize < 1 || pageSize > MAX_PAGE) {
        throw new RequestMalformedError(`pageSize must be from 1 to ${MAX_PAGE}.`);
      }
      const since = statusTimestampAfter ? new Date(statusTimestampAfter) : undefined;
      if (since && Number.isNaN(since.getTime())) {
        throw new RequestMalformedError('statusTimestampAfter must be a time.');
      }
      const state = stateOf(status);
      const isAny = status === 0;
      if (!isAny && !state) return { tasks: [], nextPageToken: '', pageSize, totalSize: 0 };
      const { tasks, total } = await this.#service.servedTasks.list(owners, {
        ...(contextId && { contextId }),
        ...(state && { state }),
        ...(since && { since }),
        ...(pageToken && { after: pageToken }),
        limit: pageSize + 1,
      });
      const page = tasks.slice(0, pageSize);
      return {
        tasks: page.map((task) => taskOf(task, historyLength)),
        nextPageToken: tasks.length > pageSize ? (page.at(-1)?.id ?? '') : '',
        pageSize,
        totalSize: total,
      };
    });
  }

  cancelTask({ id }: Params<'cancelTask'>, context: ServerCallContext): Promise<Result<'cancelTask'>> {
    return this.#call('cancelTask', context, async (caller) => {
      const task = await this.#find(id, caller);
      const update: NewUpdate = { key: 'cancel', state: 'canceled', text: 'The task was canceled.' };
      if (!(await this.#service.servedTasks.update(task.id, update))) {
        throw new TaskNotCancelableError('The task has ended.');
      }
      return taskOf(await this.#find(id, caller));
    });
  }

  createTaskPushNotificationConfig(
    params: Params<'createTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<Result<'createTaskPushNotificationConfig'>> {
    return this.#call('createTaskPushNotificationConfig', context, async (caller) => {
      const task = await this.#find(params.taskId, caller);
      refuseHookUrl(this.#service.publicTransport, params.url);
      return hookConfig(
        await setHook(
          this.#service.taskHooks,
          this.#service.tasks,
          { ...params, taskId: task.id },
          context.requestedVersion,
        ),
      );
    });
  }

  getTaskPushNotificationConfig(
    params: Params<'getTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<Result<'getTaskPushNotificationConfig'>> {
    return this.#call('getTaskPushNotificationConfig', context, async (caller) => {
      const { id: taskId } = await this.#find(params.taskId, caller);
      const hooks = await this.#service.taskHooks.list(taskId);
      // Version 0.3 may leave out the id: the only one, or the first.
      const hook = params.id ? hooks.find(({ id }) => id === params.id) : hooks[0];
      if (!hook) throw new TaskNotFoundError('The task has no such push notification config.');
      return hookConfig(hook);
    });
  }

  listTaskPushNotificationConfigs(
    params: Params<'listTaskPushNotificationConfigs'>,
    context: ServerCallContext,
  ): Promise<Result<'listTaskPushNotificationConfigs'>> {
    return this.#call('listTaskPushNotificationConfigs', context, async (caller) => {
      const { id: taskId } = await this.#find(params.taskId, caller);
      return { configs: (await this.#service.taskHooks.list(taskId)).map(hookConfig), nextPageToken: '' };
    });
  }

  deleteTaskPushNotificationConfig(
    params: Params<'deleteTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<void> {
    return this.#call('deleteTaskPushNotificationConfig', context, async (caller) => {
      const { id: taskId } = await this.#find(params.taskId, caller);
      await this.#service.taskHooks.delete(taskId, params.id);
    });
  }

  /** Opens or continues the task of a message, and sets the hook that came with it. */
  async #accept(
    params: Params<'sendMessage'>,
    context: ServerCallContext,
    caller: A2aCaller,
  ): Promise<ServedTask> {
    const given = params.configuration?.taskPushNotificationConfig;
    // Checked before the task is opened.
    if (given) refuseHookUrl(this.#service.publicTransport, given.url);
    const task = await this.#open(params, caller);
    if (given && !isEnd(task.state))
      await setHook(
        this.#service.taskHooks,
        this.#service.tasks,
        { ...given, taskId: task.id },
        context.requestedVersion,
      );
    return task;
  }

  /** Opens the task of a message, or continues the one that waits for it. */
  async #open(params: Params<'sendMessage'>, caller: A2aCaller): Promise<ServedTask> {
    const { servedTasks, tasks } = this.#service;
    const { message } = params;
    if (!message?.messageId) throw new RequestMalformedError('message.messageId is missing.');
    if (message.messageId.length > 200 || message.contextId.length > 200) {
      throw new RequestMalformedError('messageId and contextId must have at most 200 characters.');
    }
    const input = inputOf(message);
    if ('problem' in input) throw new RequestMalformedError(input.problem);
    if (message.taskId) return this.#continue(message.taskId, message.messageId, input, caller);
    const contextId = message.contextId || randomUUID();
    const decision = await decideRequest(this.#service, input, contextId, caller);
    const opened = await servedTasks.open(
      {
        id: randomUUID(),
        contextId,
        owner: caller.userName,
        message: { messageId: message.messageId, text: input.text },
        ...('request' in decision && { request: decision.request }),
      },
      maxOpenTasksOf(caller.caller),
    );
    if (opened.outcome === 'full') {
      caller.overLimit();
      throw new UnsupportedOperationError(TOO_MANY_TASKS);
    }
    const { outcome, task } = opened;
    if ('request' in decision) await tasks.start(serveTaskStart(task.id, task.messages.length));
    else if (outcome === 'opened') {
      await servedTasks.update(task.id, { key: 'first', ...decision.update });
      return this.#find(task.id, caller);
    }
    return task;
  }

  /** Gives a task that waits for input what it waits for. */
  async #continue(id: string, messageId: string, input: A2aInput, caller: A2aCaller): Promise<ServedTask> {
    const { servedTasks, tasks } = this.#service;
    const task = await this.#find(id, caller);
    if (task.messages.some((message) => message.messageId === messageId)) return task;
    if (task.state !== 'input-required') {
      throw new UnsupportedOperationError(
        `The task takes no message: it is ${task.state}. Send one without taskId.`,
      );
    }
    const text = input.text.trim() === '' ? (task.messages[0]?.text ?? '') : input.text;
    const decision = await decideRequest(this.#service, { ...input, text }, task.contextId, caller);
    if ('update' in decision) {
      await servedTasks.update(id, { key: `input ${messageId}`, ...decision.update });
    } else if (await servedTasks.resume(id, { messageId, text }, decision.request)) {
      const task = await this.#find(id, caller);
      await tasks.start(serveTaskStart(id, task.messages.length));
    }
    return this.#find(id, caller);
  }

  async #find(id: string, { owners }: A2aCaller): Promise<ServedTask> {
    if (!id) throw new RequestMalformedError('The id of the task is missing.');
    const task = await this.#service.servedTasks.get(id, owners);
    if (!task) throw new TaskNotFoundError(`Task not found: ${id.slice(0, 100)}`);
    return task;
  }

  /** The task when it has ended or waits for input; or as it is after five minutes. */
  async #settled(task: ServedTask, caller: A2aCaller): Promise<ServedTask> {
    const refused = new AbortController();
    const unwatch = this.#service.keyWatch.watch(caller.caller, () => refused.abort());
    const signal = AbortSignal.any([caller.disconnected(), refused.signal, this.#service.stopping]);
    try {
      return await untilSettled(
        { feed: this.#service.taskFeed, clock: this.#service.clock },
        task,
        MAX_BLOCKING_MS,
        signal,
      );
    } finally {
      unwatch();
    }
  }

  /** The task as it is, then its updates until it has ended or waits for input, or the key of the caller is refused. */
  async *#events(task: ServedTask, caller: A2aCaller): AsyncGenerator<StreamEvent, void, undefined> {
    const refused = new AbortController();
    const unwatch = this.#service.keyWatch.watch(caller.caller, () => refused.abort());
    const signal = AbortSignal.any([caller.disconnected(), refused.signal, this.#service.stopping]);
    const watch = this.#service.taskFeed.watch(task.id);
    const stopKeepAlive = caller.keepAlive();
    try {
      yield { payload: { $case: 'task', value: taskOf(task) } };
      let current = task;
      while (!isSettled(current)) {
        await caller.drained();
        const next = await watch.next(current.updates.length, signal);
        if (!next) return;
        for (const update of next.updates.slice(current.updates.length)) {
          for (const event of eventsOf(next, update)) {
            signal.throwIfAborted();
            yield event;
            await caller.drained();
          }
        }
        current = next;
      }
    } catch (error) {
      if (!signal.aborted) throw this.#shown(error);
    } finally {
      stopKeepAlive();
      unwatch();
      watch.close();
    }
  }

  /** Does a call and records it. */
  async #call<T>(
    action: keyof typeof OPERATIONS,
    context: ServerCallContext,
    work: (caller: A2aCaller) => Promise<T>,
  ): Promise<T> {
    const caller = context.user;
    if (!(caller instanceof A2aCaller)) throw new TypeError('the call has no caller');
    let outcome = 'ok';
    try {
      admit(caller.caller, OPERATIONS[action]);
      return await work(caller);
    } catch (error) {
      outcome =
        error instanceof A2AError ? error.reason : error instanceof Wa2aiError ? error.code : 'INTERNAL';
      throw this.#shown(error);
    } finally {
      await this.#record(action, caller, outcome);
    }
  }

  async #record(action: keyof typeof OPERATIONS, by: A2aCaller, outcome: string): Promise<void> {
    const { caller, requestId, address } = by;
    const event = {
      at: new Date(this.#service.clock.now()),
      face: 'a2a',
      ...auditedCaller(caller),
      action,
      outcome,
      requestId,
      address,
    };
    if (OPERATIONS[action].kind === 'change') await this.#service.recorder.recordChange(event);
    else this.#service.recorder.recordRead(event);
  }

  /** The error as the caller may see it: a defect is only in the log. */
  #shown(error: unknown): unknown {
    if (error instanceof A2AError || error instanceof Wa2aiError) return error;
    this.#service.log.error({ err: error }, 'a2a call failed');
    return new Error('wa2ai failed to handle this request. Its log has the cause.');
  }
}

const DEFAULT_DEADLINE_MINUTES = { 'message-person': 60, 'ask-person': 1_440 };

/** Whether callers must send a key, as the card says. */
export function needsKey({ config }: App): boolean {
  return config.apiKey !== undefined;
}

type Owner = Pick<A2aCaller, 'caller' | 'userName'>;

/** What a message becomes: something to do, or a first update without it. */
type Decision = { request: ServedRequest } | { update: Omit<NewUpdate, 'key'> };

/**
 * Chooses the skill of a message, and checks what the skill needs and what the caller may use.
 * @throws {RequestMalformedError} a sentence for the caller
 */
export async function decideRequest(
  app: App,
  input: A2aInput,
  contextId: string,
  caller: Owner,
): Promise<Decision> {
  const shared = await usableRoutes(app, caller);
  const choice = chooseSkill(input, shared);
  const skills = ['message-person', 'ask-person', ...shared.map(({ skill }) => skill)].join(', ');
  if (choice.kind === 'unknown') {
    throw new RequestMalformedError(`There is no skill "${input.skill}". Skills: ${skills}.`);
  }
  if (choice.kind === 'unclear') {
    const text = `Choose a skill: send a data part {"skill", "to", "text", "deadlineMinutes"}. Skills: ${skills}.`;
    return { update: { state: 'input-required', text } };
  }
  if (input.text.trim() === '') throw new RequestMalformedError('text is missing.');
  if (choice.kind === 'route') {
    const { id: routeId, accountId } = choice.route;
    const sessionId = sessionOf(caller.userName, contextId);
    return { request: { skill: 'talk-to-route', accountId, routeId, text: input.text, sessionId } };
  }
  return decidePerson(app, choice.skill, input, caller);
}

async function decidePerson(
  app: App,
  skill: 'message-person' | 'ask-person',
  input: A2aInput,
  { caller }: Pick<A2aCaller, 'caller'>,
): Promise<Decision> {
  const chosen = await choosePerson(app, skill, input, caller);
  if ('problem' in chosen) throw new RequestMalformedError(chosen.problem);
  if ('refusal' in chosen) return { update: { state: 'rejected', text: chosen.refusal } };
  const deadlineMinutes = input.deadlineMinutes ?? DEFAULT_DEADLINE_MINUTES[skill];
  return { request: { skill, ...chosen, text: input.text, deadlineMinutes } };
}

/** The shared routes that the caller may use. */
async function usableRoutes(
  { routes, config, aliasesOf }: App,
  { caller }: Pick<A2aCaller, 'caller'>,
): Promise<SharedRoute[]> {
  const all = sharedRoutes((await routes.list()).filter((route) => route.environment === config.environment));
  const allowed = allowedRoutes(caller);
  const usable: SharedRoute[] = [];
  for (const shared of all) {
    if (allowed && !allowed.includes(shared.route.id)) continue;
    if (await mayUseChat(caller, shared.route, aliasesOf)) usable.push(shared);
  }
  return usable;
}

/** The agent's conversation of a context: two owners with the same context have two. */
function sessionOf(owner: string, contextId: string): string {
  return `a2a-${createHash('sha256')
    .update(JSON.stringify([owner, contextId]))
    .digest('hex')
    .slice(0, 32)}`;
}
