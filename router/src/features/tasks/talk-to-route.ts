import { Wa2aiError } from '../../core/errors.ts';
import type { AgentResponse, IncomingMessage, Route } from '../../core/models.ts';
import { type AskRouteDeps, askRoute } from '../../core/turns/ask-route.ts';
import type { SkillDeps } from './ask-person.ts';
import type { NewUpdate, ServedRequest, ServedTask } from './served-tasks.ts';

type RouteRequest = Extract<ServedRequest, { routeId: string }>;

/** Text of a failure for programs: the agent's own words stay in the log. */
const FAILED = 'The agent did not answer.';
const FALLBACK = 'The agent did not answer. The answer is the text of the route for this case.';
const FILES_LEFT_OUT = 'The answer has files, which are named here and not transmitted.';

/** Asks the agent behind a shared route, in the conversation of the task's context. */
export async function talkToRoute(deps: SkillDeps, task: ServedTask, request: RouteRequest): Promise<void> {
  const { update, log } = deps;
  const route = await deps.routes.get(request.routeId);
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
  const over = stopWhenCanceled(deps, stopped);
  const asking: AskRouteDeps = {
    ...deps,
    inbox: { countAttempt: async () => ({ stored: Promise.resolve() }) },
    stopping: AbortSignal.any([deps.stopping, stopped.signal]),
  };
  const message = messageOf(task, request);
  const asked = { messageId: task.id, accountId: request.accountId, message, mayHaveRun: isRepeat };
  try {
    const answer = await askRoute(asking, route, asked, isRepeat);
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
    deps.stopping.throwIfAborted();
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
export function isShared(route: Route): boolean {
  return route.enabled && route.damage === undefined && route.config.shared === true;
}

/** Ends with the other work of the task. */
async function stopWhenCanceled({ watch, stopping }: SkillDeps, stopped: AbortController): Promise<void> {
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
