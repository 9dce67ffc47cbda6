import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { taskOwnersOf } from '../../core/access/caller.ts';
import type { Clock } from '../../core/clock.ts';
import type { Service } from '../../feature.ts';
import { maxOpenTasksOf, TOO_MANY_TASKS } from '../../infra/operations/guard.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';
import { choosePerson, serveTaskStart } from '../tasks/serve-task.ts';
import type { ServedTask } from '../tasks/served-tasks.ts';
import { untilSettled } from '../tasks/task-feed.ts';
import { type McpTool, SENDS, type ShowProgress, type ToolCall, tool } from './call-tool.ts';
import { args } from './chat-tools.ts';

const MAX_WAIT_SECONDS = 600;
/** Shorter than a minute, after which many clients give up. */
const DEFAULT_WAIT_SECONDS = 50;
const PROGRESS_EVERY_MS = 5_000;

/** The argument `wait_seconds`. */
export function waitSeconds({ max = MAX_WAIT_SECONDS, byDefault = DEFAULT_WAIT_SECONDS } = {}) {
  return z
    .int()
    .min(0)
    .max(max)
    .default(byDefault)
    .describe(
      `How long to wait, 0 to ${max}. Keep it below the time limit of your client, often 60 seconds; call again to wait on.`,
    );
}

/** Does work that waits, and shows every five seconds how long it has waited. */
export async function withProgress<T>(
  clock: Clock,
  totalSeconds: number,
  { progress }: { progress: ShowProgress },
  work: (show: (message?: string) => void) => Promise<T>,
): Promise<T> {
  const began = clock.monotonicMs();
  const ended = new AbortController();
  const show = (message?: string) => progress((clock.monotonicMs() - began) / 1_000, totalSeconds, message);
  const tick = async () => {
    for (;;) {
      await clock.sleep(PROGRESS_EVERY_MS, ended.signal);
      show();
    }
  };
  tick().catch(() => undefined);
  try {
    return await work(show);
  } finally {
    ended.abort();
  }
}

const DEFAULT_DEADLINE_MINUTES = 1_440;

const askInput = z
  .strictObject({
    to: args.channel
      .optional()
      .describe('The person to ask: a phone number with its country code, or a JID.'),
    text: z.string().min(1).max(65_536).optional().describe('The question.'),
    handle: z
      .string()
      .max(100)
      .optional()
      .describe('A question that was asked before: waits for its answer. Instead of `to` and `text`.'),
    cancel: z.boolean().default(false).describe('With `handle`: closes the question.'),
    deadline_minutes: z
      .int()
      .min(1)
      .max(43_200)
      .default(DEFAULT_DEADLINE_MINUTES)
      .describe('How long the question is open. The person is reminded once, after half of it.'),
    account_id: args.accountId,
    idempotency_key: args.idempotencyKey,
    wait_seconds: waitSeconds(),
  })
  .refine(({ handle, to, text }) => (handle === undefined) === (to !== undefined && text !== undefined), {
    path: ['to'],
    error: 'and text ask a new question; send them, or the handle of a question that was asked',
  })
  .refine(({ handle, to, text }) => handle === undefined || (to === undefined && text === undefined), {
    path: ['handle'],
    error: 'belongs to a question that was asked; do not send to or text with it',
  })
  .refine(({ handle, cancel }) => !cancel || handle !== undefined, {
    path: ['cancel'],
    error: 'closes a question that was asked; send its handle',
  });

const question = z.object({
  handle: z.string().describe('Send it to ask_person again to wait on, or to close the question.'),
  status: z.enum(['waiting', 'answered', 'failed', 'canceled']),
  answer: z.string().optional().describe('What the person wrote.'),
  detail: z.string().optional().describe('What happened last, as a sentence.'),
});

/** The question goes on when its caller is gone: another call with its handle continues. */
export function askPersonTool(service: Service): McpTool {
  const { calls, servedTasks, taskFeed, clock } = service;
  return tool({
    name: 'ask_person',
    title: 'Ask a person',
    description:
      'Asks a person a question on WhatsApp and waits for the answer: their next text in the chat, which then goes to no agent. A person may need hours: with the status `waiting`, call again with `handle`.',
    ...calls.admissionOf('sendMessage', 'listMessages'),
    input: askInput,
    output: question,
    annotations: { ...SENDS, idempotentHint: false },
    untrusted: 'people',
    run: async (input, call) => {
      const task =
        input.handle === undefined
          ? await askNew(service, input, call)
          : await findQuestion(service, input.handle, call);
      if (input.cancel) {
        await servedTasks.update(task.id, {
          key: 'cancel',
          state: 'canceled',
          text: 'The task was canceled.',
        });
        return { data: questionOf(await findQuestion(service, task.id, call)), object: task.id };
      }
      const settled = await withProgress(clock, input.wait_seconds, call, (show) =>
        untilSettled(
          { feed: taskFeed, clock },
          task,
          input.wait_seconds * 1_000,
          call.signal,
          ({ updates }) => show(updates.at(-1)?.text),
        ),
      );
      call.signal.throwIfAborted();
      return { data: questionOf(settled), object: task.id };
    },
  });
}

async function askNew(
  service: Service,
  input: z.output<typeof askInput>,
  { caller, owner }: ToolCall,
): Promise<ServedTask> {
  const {
    to: person,
    text = '',
    account_id,
    deadline_minutes: deadlineMinutes,
    idempotency_key: key,
  } = input;
  const chosen = await choosePerson(service, 'ask-person', { accountId: account_id, to: person }, caller);
  if ('problem' in chosen) throw new HttpProblem(400, 'INVALID_BODY', { sentence: chosen.problem });
  if ('refusal' in chosen) throw new HttpProblem(403, 'CHAT_NOT_ALLOWED', { sentence: chosen.refusal });
  const request = { skill: 'ask-person' as const, ...chosen, text, deadlineMinutes };
  const id = randomUUID();
  const message = { messageId: `mcp ${key === undefined ? id : hashOf(key)}`, text };
  const opened = await service.servedTasks.open(
    { id, contextId: id, owner, message, request },
    maxOpenTasksOf(caller),
  );
  if (opened.outcome === 'full') throw new HttpProblem(429, 'TOO_MANY_TASKS', { sentence: TOO_MANY_TASKS });
  const { task } = opened;
  const known = task.request;
  if (known?.skill !== 'ask-person' || known.to !== request.to || known.text !== text) {
    throw new HttpProblem(409, 'IDEMPOTENCY_CONFLICT', {
      sentence: 'This idempotency_key was used for another person or text. Nothing was sent.',
    });
  }
  await service.tasks.start(serveTaskStart(task.id, task.messages.length));
  return task;
}

/** The question with this handle, if it is the caller's. */
async function findQuestion(
  { servedTasks }: Service,
  handle: string,
  { caller }: Pick<ToolCall, 'caller'>,
): Promise<ServedTask> {
  const task = await servedTasks.get(handle, taskOwnersOf(caller));
  if (task?.request?.skill === 'ask-person') return task;
  throw new HttpProblem(404, 'NOT_FOUND', { sentence: 'There is no question with this handle.' });
}

const STATUS_OF: Partial<Record<ServedTask['state'], z.output<typeof question>['status']>> = {
  completed: 'answered',
  failed: 'failed',
  rejected: 'failed',
  canceled: 'canceled',
};

function questionOf({ id, state, updates }: ServedTask): z.output<typeof question> {
  const answer = updates.find(({ artifact }) => artifact?.name === 'answer')?.artifact?.text;
  const detail = updates.at(-1)?.text;
  return {
    handle: id,
    status: STATUS_OF[state] ?? 'waiting',
    ...(answer !== undefined && { answer }),
    ...(detail !== undefined && { detail }),
  };
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
