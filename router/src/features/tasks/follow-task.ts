import type { AgentClient, TaskNow, TaskReport } from '../../core/agent-client.ts';
import { type AgentExchange, addExchange } from '../../core/agent-exchange.ts';
import { chatHash } from '../../core/chat-id.ts';
import { backoffMs, withLimit } from '../../core/clock.ts';
import { AgentTaskError, AgentUnavailableError, Wa2aiError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Route } from '../../core/models.ts';
import { errorOfSaid, say } from '../../core/phrases.ts';
import { shapeReply } from '../../core/policies/reply.ts';
import { type ChatSettings, chatSettingsOf } from '../../core/policies/settings.ts';
import { languageOf, phoneOf, type SayInChat, sayingIn } from '../../core/policies/texts.ts';
import {
  type FollowedRow,
  type NewReport,
  shortTaskId,
  type TaskInput,
  type TaskResult,
  type TaskStart,
  type TaskSteps,
} from '../../core/tasks.ts';
import { attemptStore } from '../../core/turns/attempt-store.ts';
import { shapeAnswer } from '../../core/turns/shape-answer.ts';
import type { Kernel, Service } from '../../feature.ts';

/** A task that has not ended after this is given up. */
const MAX_AGE_MS = 7 * 86_400_000;
/** Between attempts while the agent or the database does not answer. */
const MAX_WAIT_MS = 60_000;

/**
 * Follows a task at an agent until it ends, and reports its progress and its end in the chat of the message that opened it.
 * One durable step: after a crash it runs again, here or on another node, and each report is stored once.
 */
export async function followTask(
  service: Service,
  steps: TaskSteps,
  { taskId }: TaskInput<'follow-task'>,
): Promise<TaskResult<'follow-task'>> {
  const outcome = await steps.run('follow', () => followUntilEnd(service, taskId, steps.stopping));
  return { outcome };
}

/** Waits as long as the agent or the database does not answer. @throws the reason of `stopping` */
async function followUntilEnd(service: Service, taskId: string, stopping: AbortSignal): Promise<string> {
  const { remoteTasks, exchangeRecorder, deliver, clock, random } = service;
  const tasksLog = service.logOf('tasks');
  /** Since the last stored report. */
  let exchanges: AgentExchange[] = [];
  for (let failures = 0; ; ) {
    stopping.throwIfAborted();
    try {
      const row = await remoteTasks.followed(taskId);
      if (!row) return 'ended before';
      const log = tasksLog.child({
        messageId: row.messageId,
        chat: chatHash(row.chatId),
        task: row.remoteId,
      });
      const onExchange = (exchange: AgentExchange) => addExchange(exchanges, exchange);
      const next = () => nextReport(service, log, row, stopping);
      const found = exchangeRecorder ? await exchangeRecorder.during(onExchange, next) : await next();
      const report = { ...found, ...(exchanges.length > 0 && { exchanges }) };
      const replies = await remoteTasks.report(taskId, report);
      exchanges = [];
      deliver(replies);
      log.info({ number: report.number, state: report.end?.state ?? 'running' }, 'task of an agent reported');
      if (report.end) return report.end.state;
      failures = 0;
    } catch (error) {
      stopping.throwIfAborted();
      failures += 1;
      // 1, 2, 4, 8 ...
      if ((failures & (failures - 1)) === 0) {
        tasksLog.warn(
          { err: error, taskId, attempt: failures },
          'cannot follow the task of an agent, retrying',
        );
      }
      const waitMs = backoffMs({ attempt: failures, baseMs: 1_000, maxMs: MAX_WAIT_MS, random });
      await clock.sleep(waitMs, stopping);
    }
  }
}

/** @throws {Wa2aiError} with disposition `retry` or `uncertain`: the agent does not answer now */
async function nextReport(
  service: Service,
  log: Logger,
  row: FollowedRow,
  stopping: AbortSignal,
): Promise<NewReport> {
  const { shaping } = service;
  const route = await service.routes.get(row.routeId);
  const conversation = chatSettingsOf(route, await shaping.conversation());
  const { message } = row;
  const language = languageOf(message.text, phoneOf(message), message.chatLanguage);
  const sayInChat = sayingIn(language, conversation.texts);
  const failedWith = (error: Wa2aiError) => failed(service, row, conversation, sayInChat, error);
  if (!route) return failedWith(lost(row, 'its route was deleted'));
  try {
    const report = await untilReport(service, log, row, route, sayInChat, stopping);
    const number = row.reports + 1;
    if (report.kind === 'progress') {
      const { text: response, position } = report;
      const { replies } = shapeReply({ success: true, response }, conversation, shaping.formatReply);
      return {
        number,
        position,
        replies: replies.map((reply) => ({ ...addressOf(service, row), ...reply })),
      };
    }
    const said = (
      await shapeAnswer(shaping, report.response, { conversation, asked: row.message, signal: stopping })
    ).replies;
    const replies =
      said.length > 0 ? said : [{ text: sayInChat('taskDone', { task: shortTaskId(row.remoteId) }) }];
    return {
      number,
      replies: replies.map((reply) => ({ ...addressOf(service, row), ...reply })),
      end: { state: 'done' },
    };
  } catch (error) {
    stopping.throwIfAborted();
    // A status can be asked for again whatever happened to the last request.
    if (!(error instanceof Wa2aiError) || error.disposition !== 'dead') throw error;
    return failedWith(error);
  }
}

async function untilReport(
  { agents, clock, remoteTasks }: Service,
  log: Logger,
  row: FollowedRow,
  route: Route,
  sayInChat: SayInChat,
  stopping: AbortSignal,
): Promise<TaskReport> {
  const client = route.damage === undefined ? agents.clientFor(route) : undefined;
  const follow = client?.followTask?.bind(client);
  if (!follow) throw lost(row, 'its route has no agent that can show it');
  const { remoteId, message, position } = row;
  const task = { remoteId, message, ...(position !== undefined && { position }) };
  const leftMs = Math.max(0, MAX_AGE_MS - row.ageMs);
  const turn = { messageId: row.messageId, accountId: row.accountId, message };
  const store = attemptStore(remoteTasks, route, turn);
  return await withLimit(clock, leftMs, stopping, async (signal) => {
    try {
      return await follow(route.agentEndpoint, task, { signal, log, store, sayInChat });
    } catch (error) {
      stopping.throwIfAborted();
      if (signal.aborted) throw lost(row, 'it did not end within seven days');
      throw error;
    }
  });
}

function lost({ remoteId }: FollowedRow, why: string): Wa2aiError {
  return new Wa2aiError('AGENT_TASK_LOST', 'dead', say('task.lost', { task: remoteId, why }));
}

/** The agent's own text of a failure never reaches the chat. */
function failed(
  service: Service,
  row: FollowedRow,
  { notices: { failed: notice } }: ChatSettings,
  sayInChat: SayInChat,
  error: Wa2aiError,
): NewReport {
  const line = [
    sayInChat('taskFailed', { task: shortTaskId(row.remoteId) }),
    typeof notice === 'string' && notice,
  ]
    .filter(Boolean)
    .join(' ');
  const text = (error instanceof AgentTaskError && error.forPerson) || line;
  return {
    number: row.reports + 1,
    replies: [{ ...addressOf(service, row), text }],
    end: { state: 'failed', reason: error.code, ...errorOfSaid(error.said) },
  };
}

function addressOf({ mintId }: Service, { accountId, replyTo }: FollowedRow) {
  return { accountId, to: replyTo, waMessageId: mintId() };
}

/** The durable task that follows a task of an agent. */
export function followTaskStart(taskId: string): TaskStart {
  return { kind: 'follow-task', id: `agent-task-${taskId}`, input: { taskId } };
}

/** Longest wait for the agent. */
const LIMIT_MS = 10_000;

/**
 * What the agent of a running task says of it now.
 * @returns undefined: the task has ended, or its agent cannot be asked
 * @throws {Wa2aiError} the agent does not answer
 */
export async function askAboutTask(
  kernel: Kernel,
  taskId: string,
  gone?: AbortSignal,
): Promise<TaskNow | undefined> {
  return await atAgent(kernel, taskId, gone, async ({ client, endpoint, row, signal }) =>
    client.taskNow?.(endpoint, row, signal),
  );
}

/**
 * Asks the agent of a running task to cancel it. The chat gets the end when the agent reports it.
 * @returns `ended`: it does not run; `refused`: its agent does not cancel it
 * @throws {Wa2aiError} the agent does not answer
 */
export async function cancelTask(
  kernel: Kernel,
  taskId: string,
  gone?: AbortSignal,
): Promise<'asked' | 'refused' | 'ended'> {
  const outcome = await atAgent(kernel, taskId, gone, async ({ client, endpoint, row, signal }) =>
    (await client.cancelTask?.(endpoint, row, signal)) ? ('asked' as const) : ('refused' as const),
  );
  return outcome ?? 'ended';
}

interface Asked {
  client: AgentClient;
  endpoint: string;
  row: FollowedRow;
  signal: AbortSignal;
}

/** @returns undefined: the task has ended, or the route that opened it is gone */
async function atAgent<T>(
  { remoteTasks, routes, agents, clock }: Kernel,
  taskId: string,
  gone: AbortSignal | undefined,
  work: (asked: Asked) => Promise<T>,
): Promise<T | undefined> {
  const row = await remoteTasks.followed(taskId);
  const route = row && (await routes.get(row.routeId));
  if (!row || !route || route.damage !== undefined) return undefined;
  const client = agents.clientFor(route);
  return await withLimit(clock, LIMIT_MS, gone, async (signal) => {
    try {
      return await work({ client, endpoint: route.agentEndpoint, row, signal });
    } catch (error) {
      gone?.throwIfAborted();
      if (!signal.aborted) throw error;
      throw new AgentUnavailableError(say('task.agent-silent', { seconds: LIMIT_MS / 1_000 }));
    }
  });
}
