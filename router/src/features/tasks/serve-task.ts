import { type Caller, mayUseAccount, mayUseChat } from '../../core/access/caller.ts';
import { canonicalChannelId, jidOfChannelId, parseJid } from '../../core/chat-id.ts';
import { storageRetryMs } from '../../core/clock.ts';
import { Wa2aiError } from '../../core/errors.ts';
import type { AgentResponse, IncomingMessage, Route } from '../../core/models.ts';
import type { TaskInput, TaskResult, TaskStart, TaskSteps } from '../../core/tasks.ts';
import { type AskWithFallbackDeps, askWithFallback } from '../../core/turns/ask-agent.ts';
import type { App, Service } from '../../feature.ts';
import { askPerson, messagePerson, type Serving } from './ask-person.ts';
import { isEnd, type NewUpdate, type ServedRequest, type ServedTask } from './served-tasks.ts';

/**
 * Does a task for a program until it has ended. One durable step: after a crash it runs again, here or on another node.
 * Everything it does is named after the task, so nothing is sent or stored twice.
 */
export async function serveTask(
  service: Service,
  steps: TaskSteps,
  { taskId }: TaskInput<'serve-task'>,
): Promise<TaskResult<'serve-task'>> {
  const outcome = await steps.run('serve', () => serveUntilEnd(service, taskId, steps.stopping));
  return { outcome };
}

/** Waits as long as the database does not answer. @throws the reason of `stopping` */
async function serveUntilEnd(service: Service, taskId: string, stopping: AbortSignal): Promise<string> {
  const log = service.logOf('a2a').child({ task: taskId });
  const watch = service.taskFeed.watch(taskId);
  try {
    return await serveWatched(
      { service, log, stopping, watch, update: (change) => service.servedTasks.update(taskId, change) },
      taskId,
    );
  } finally {
    watch.close();
  }
}

async function serveWatched(serving: Serving, taskId: string): Promise<string> {
  const { service, stopping, log } = serving;
  for (let failures = 0; ; ) {
    stopping.throwIfAborted();
    try {
      const task = await service.servedTasks.get(taskId);
      if (!task?.request || isEnd(task.state)) return task?.state ?? 'gone';
      if (task.state === 'input-required') return task.state;
      await runSkill(serving, task, task.request);
    } catch (error) {
      stopping.throwIfAborted();
      failures += 1;
      log.warn({ err: error, attempt: failures }, 'cannot do a task, retrying');
      await service.clock.sleep(storageRetryMs(failures), stopping);
    }
  }
}

async function runSkill(serving: Serving, task: ServedTask, request: ServedRequest): Promise<void> {
  if (request.skill === 'talk-to-route') return talkToRoute(serving, task, request);
  if (jidOfChannelId(request.to) === undefined) {
    await serving.update({ key: 'end', state: 'rejected', text: 'The task names no chat.' });
    return;
  }
  return request.skill === 'ask-person'
    ? askPerson(serving, task, request)
    : messagePerson(serving, task, request);
}

/** The durable task that does a served task; one that got further input is done by a new one. @param round number of its inputs */
export function serveTaskStart(taskId: string, round: number): TaskStart {
  return { kind: 'serve-task', id: `served-task-${taskId}-${round}`, input: { taskId } };
}

/** `problem`, `refusal`: why not, as a sentence. */
type PersonChoice =
  | { accountId: string; to: string }
  /** The caller's mistake. */
  | { problem: string }
  /** The caller may not. */
  | { refusal: string };

/** Whom a program wants to message or ask: a chat of an account of this service that its caller may use. */
export async function choosePerson(
  { accounts, aliasesOf, config }: App,
  skill: 'message-person' | 'ask-person',
  given: { accountId?: string; to?: string },
  caller: Caller,
): Promise<PersonChoice> {
  const accountId = given.accountId ?? config.accountId;
  // First: a key does not learn which other accounts exist.
  if (!mayUseAccount(caller, accountId)) return { refusal: 'The key may not use this account.' };
  if (accountId !== config.accountId && !accounts.get(accountId)) {
    return { problem: 'accountId is not a WhatsApp account of this service.' };
  }
  const to = given.to === undefined ? undefined : canonicalChannelId(given.to);
  if (to === undefined || to === '*') {
    return { problem: 'to must be one chat: a phone number with its country code or a JID.' };
  }
  if (skill === 'ask-person' && parseJid(to)?.kind === 'group') {
    return { problem: 'to must be a person: a group cannot be asked.' };
  }
  if (!(await mayUseChat(caller, { accountId, channelId: to }, aliasesOf))) {
    return { refusal: 'The key may not use this chat.' };
  }
  return { accountId, to };
}

/** A route that programs may talk to, with the name of its skill. */
export interface SharedRoute {
  /** `talk-to-<name>` */
  skill: string;
  route: Route;
}

/** The shared routes with unique names, the oldest first; two of the same name have a part of their id in it. */
export function sharedRoutes(routes: readonly Route[]): SharedRoute[] {
  const taken = new Set<string>();
  return routes
    .filter(isShared)
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))
    .map((route) => {
      const plain = `talk-to-${slug(route.name ?? '') || route.id}`;
      const skill = taken.has(plain) ? `${plain}-${route.id.slice(-12)}` : plain;
      taken.add(skill);
      return { skill, route };
    });
}

function slug(name: string): string {
  return (
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/\p{M}/gu, '')
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      // Each run of other characters became one hyphen.
      .replace(/^-|-$/g, '')
      .slice(0, 60)
  );
}

/** What a program asks for: a skill by its name, or only a text. */
interface Wish {
  skill?: string;
  text: string;
}

/** The skill of a wish. `unclear`: the program must name one. */
type SkillChoice =
  | { kind: 'person'; skill: 'message-person' | 'ask-person' }
  | { kind: 'route'; route: Route }
  | { kind: 'unknown' }
  | { kind: 'unclear' };

/** A text without a skill goes to the only shared route. */
export function chooseSkill({ skill }: Pick<Wish, 'skill'>, shared: readonly SharedRoute[]): SkillChoice {
  if (skill === 'message-person' || skill === 'ask-person') return { kind: 'person', skill };
  const [first] = shared;
  if (skill === undefined) {
    return first && shared.length === 1 ? { kind: 'route', route: first.route } : { kind: 'unclear' };
  }
  const named = shared.find((candidate) => candidate.skill === skill);
  return named ? { kind: 'route', route: named.route } : { kind: 'unknown' };
}

type RouteRequest = Extract<ServedRequest, { routeId: string }>;

/** Text of a failure for programs: the agent's own words stay in the log. */
const FAILED = 'The agent did not answer.';
const FALLBACK = 'The agent did not answer. The answer is the text of the route for this case.';
const FILES_LEFT_OUT = 'The answer has files, which are named here and not transmitted.';

/** Asks the agent behind a shared route, in the conversation of the task's context. */
async function talkToRoute(serving: Serving, task: ServedTask, request: RouteRequest): Promise<void> {
  const { service, stopping, update, log } = serving;
  const { routes, agents, circuits, failureDefaults: policy, clock } = service;
  const route = await routes.get(request.routeId);
  const key = `end ${task.messages.length}`;
  if (!route || !isShared(route)) {
    await update({ key, state: 'rejected', text: 'The route is not shared any more.' });
    return;
  }
  // Stored before the first attempt: without it, no earlier process has asked.
  const isRepeat = !(await update({
    key: `ask ${task.messages.length}`,
    state: 'working',
    text: 'The agent is asked.',
  }));
  const stopped = new AbortController();
  const over = stopWhenCanceled(serving, stopped);
  const asking: AskWithFallbackDeps = {
    ...{ routes, agents, circuits, policy, clock, log },
    inbox: { countAttempt: async () => ({ stored: Promise.resolve() }) },
    stopping: AbortSignal.any([stopping, stopped.signal]),
  };
  const message = messageOf(task, request);
  const asked = { messageId: task.id, accountId: request.accountId, message, mayHaveRun: isRepeat };
  try {
    const answer = await askWithFallback(asking, route, asked, isRepeat);
    if (answer.kind === 'answer') {
      await update({ key, state: 'completed', ...shownOf(answer.response) });
      return;
    }
    log.warn({ err: answer.error, routeId: route.id }, 'agent of a shared route did not answer');
    if (answer.kind === 'failed') await update({ key, state: 'failed', text: FAILED });
    else {
      const artifact = { name: 'answer', text: answer.text };
      await update({ key, state: 'completed', text: FALLBACK, artifact });
    }
  } catch (error) {
    stopping.throwIfAborted();
    if (stopped.signal.aborted) return;
    if (!(error instanceof Wa2aiError) || error.disposition === 'retry') throw error;
    log.warn({ err: error, routeId: route.id }, 'agent of a shared route did not answer');
    await update({ key, state: 'failed', text: FAILED });
  } finally {
    stopped.abort();
    await over;
  }
}

/** Whether programs may talk to the agent of a route. */
function isShared(route: Route): boolean {
  return route.enabled && route.damage === undefined && route.config.shared === true;
}

/** Ends with the other work of the task. */
async function stopWhenCanceled({ watch, stopping }: Serving, stopped: AbortController): Promise<void> {
  const signal = AbortSignal.any([stopping, stopped.signal]);
  try {
    for (let seen = 0; ; ) {
      const task = await watch.next(seen, signal);
      if (!task || task.state === 'canceled') break;
      seen = task.updates.length;
    }
    stopped.abort();
  } catch {
    // The work has ended, or a cancel is found too late to matter.
  }
}

/** The answer of an agent as a result for the program. */
function shownOf({ response = '', files = [] }: AgentResponse): Pick<NewUpdate, 'text' | 'artifact'> {
  if (files.length === 0) return response === '' ? {} : { artifact: { name: 'answer', text: response } };
  const named = files.map(({ fileName, mimeType, bytes }) => ({
    fileName,
    mimeType,
    sizeBytes: bytes.length,
  }));
  return { text: FILES_LEFT_OUT, artifact: { name: 'answer', text: response, data: { files: named } } };
}

/** The message as an agent sees it: from the program, in a separate chat. */
function messageOf(task: ServedTask, { text, sessionId, accountId }: RouteRequest): IncomingMessage {
  const last = task.messages.at(-1);
  return {
    id: `${task.id}-${task.messages.length}`,
    from: sessionId,
    channelId: sessionId,
    text,
    timestamp: last?.at ?? task.createdAt,
    accountId,
    isGroup: false,
    kind: 'text',
  };
}
