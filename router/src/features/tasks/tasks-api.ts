import { z } from 'zod';
import {
  allowedAccounts,
  allowedChats,
  allowedRoutes,
  type Caller,
  RESTRICTIONS,
} from '../../core/access/caller.ts';
import type { TaskNow } from '../../core/agent-client.ts';
import { chatHash } from '../../core/chat-id.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { type Phrase, say } from '../../core/phrases.ts';
import type { ListedTask } from '../../core/tasks.ts';
import type { App } from '../../feature.ts';
import {
  type Endpoint,
  endpoint,
  refuseOtherAccount,
  refuseOtherChat,
  refuseOtherRoute,
} from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  dataResponse,
  isRowId,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { HttpProblem, phraseField, problemSchema } from '../../infra/operations/problem.ts';

const listQuery = z.strictObject({
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  state: z.enum(['open', 'ended']).optional().describe('Default: all.'),
  ...pageQuery(rowIdField, 50),
});

const EXAMPLE = {
  id: '31',
  remoteId: 'task_17',
  routeId: '01900000-0000-7000-8000-000000000001',
  accountId: 'default',
  chatId: '17',
  channelId: '5493777239922',
  messageId: '4711',
  pushName: 'Ana',
  state: 'open' as const,
  createdAt: '2026-01-31T12:00:01.204Z',
};

const taskFields = z.object({
  id: z.string(),
  remoteId: z.string().describe("The agent's own id, which people write after `/task`."),
  routeId: z.string(),
  accountId: z.string(),
  chatId: z.string().describe('Id of the stored chat.'),
  channelId: z.string().describe('Address of the chat, as in routes and filters.'),
  messageId: z.string().describe('The message that opened it.'),
  pushName: z.string().optional().describe('The name that the writer of the message chose.'),
  state: z.enum(['open', 'ended']).describe('`open`: it may still run, or its end is not yet in the chat.'),
  createdAt: timeView,
  endedAt: timeView.optional(),
});

const taskView = taskFields.meta({ id: 'AgentTask', examples: [EXAMPLE] });

const taskWithNow = taskFields
  .extend({
    now: z
      .object({
        state: z.string().describe('As the protocol of the agent names it.'),
        percent: z.number().optional().describe('0 to 100, when the agent says it.'),
        text: z.string().optional().describe('What the agent says about its work.'),
      })
      .optional()
      .describe('What the agent says of it now. Absent: it does not run, or its agent cannot be asked.'),
    problem: z.string().optional().describe('Why the agent did not say it.'),
    phrase: phraseField,
  })
  .meta({ id: 'AgentTaskNow', examples: [{ ...EXAMPLE, now: { state: 'processing', percent: 40 } }] });

/** Tasks that agents run for messages: `/api/tasks`. */
export function tasksApi({ remoteTasks, aliasesOf, log, askAboutTask, cancelTask }: App): Endpoint[] {
  const common = { tag: 'Tasks' };
  const params = { id: 'Id of the task.' };
  const notFound = { description: 'No such task.', schema: problemSchema };
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/tasks',
      operationId: 'listTasks',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List the tasks that agents run for messages, newest first',
      description:
        'Agents of the NPC Engine and of A2A run tasks. A key that is restricted to some chats or routes gets tasks of those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of tasks.', schema: pageResponse(taskView) } },
      handle: async ({ query: { cursor, limit, ...filter }, caller }) => {
        if (filter.accountId !== undefined) refuseOtherAccount(caller, filter.accountId);
        const allowed = {
          chats: allowedChats(caller),
          accounts: allowedAccounts(caller),
          routes: allowedRoutes(caller),
        };
        const found = await remoteTasks.list({
          ...{ ...filter, ...allowed, limit: limit + 1 },
          ...(cursor !== undefined && { before: cursor }),
        });
        const tasks = found.map((task) => shown(taskView, task));
        return { status: 200, json: pageOf(tasks, limit, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/tasks/{id}',
      operationId: 'getTask',
      isPolled: true,
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Show a task, and what its agent says of it now',
      description: 'Asks the agent while the task runs, for at most ten seconds.',
      params,
      responses: { 200: { description: 'The task.', schema: dataResponse(taskWithNow) }, 404: notFound },
      handle: async ({ params: { id = '' }, caller, signal }) => {
        const task = await allowed(caller, id);
        const said = task.state === 'open' ? await saidOf(id, signal) : {};
        const data = shown(taskWithNow, { ...task, ...said });
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/tasks/{id}/cancel',
      operationId: 'cancelTask',
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Ask the agent to cancel a task',
      description: 'The chat gets a line when the agent reports the end of the task.',
      params,
      responses: {
        202: {
          description: 'The agent was asked.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        404: notFound,
        409: {
          description: 'The task has ended, or its agent does not cancel it (`TASK_NOT_CANCELED`).',
          schema: problemSchema,
        },
        503: { description: 'The agent does not answer; try again.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller, signal }) => {
        const { chatId } = await allowed(caller, id);
        const outcome = await cancelTask(id, signal);
        if (outcome !== 'asked') {
          const why = outcome === 'ended' ? say('problem.task-ended') : say('problem.task-not-canceled');
          throw new HttpProblem(409, 'TASK_NOT_CANCELED', why);
        }
        log.info({ taskId: id, chat: chatHash(chatId) }, 'agent asked to cancel a task');
        return {
          status: 202,
          object: id,
          json: { success: true, message: 'The agent was asked to cancel it.' },
        };
      },
    }),
  ];

  /** @throws {HttpProblem} 404 none, 403 not for this caller */
  async function allowed(caller: Caller, id: string): Promise<ListedTask> {
    const task = isRowId(id) ? await remoteTasks.get(id) : undefined;
    if (!task) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-task'));
    refuseOtherRoute(caller, task.routeId);
    await refuseOtherChat(caller, task, aliasesOf);
    return task;
  }

  /** An agent that does not answer is not a reason to hide the task. */
  async function saidOf(
    id: string,
    signal: AbortSignal,
  ): Promise<{ now?: TaskNow; problem?: string; phrase?: Phrase }> {
    try {
      const now = await askAboutTask(id, signal);
      return now ? { now } : {};
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      const { sentence: problem, phrase } = error.said;
      return { problem, ...(phrase && { phrase }) };
    }
  }
}
