import type { Part, Task } from '@a2a-js/sdk';
import { AgentTaskError, type ErrorCode } from '../../../../core/errors.ts';
import type { AgentResponse } from '../../../../core/models.ts';
import { shortTaskId } from '../../../../core/tasks/short-task-id.ts';
import type { OwnHeaders } from '../../card-address.ts';
import { type JsonTemplate, renderJsonTemplate } from '../../json-template.ts';
import { readableFields } from '../../readable-fields.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { errorText } from '../../transport/error-text.ts';
import type { Redact } from '../../transport/redaction.ts';
import { type A2aState, answerParts, stateOf, textOf } from '../wire/a2a-task.ts';
import { filesOf } from './reply-files.ts';

/** Longest text of a reply; WhatsApp shows no longer message. */
const MAX_REPLY_CHARS = 60_000;

export interface AnswerContext extends Pick<OwnHeaders, 'headersFor'> {
  transport: AgentTransport;
  signal: AbortSignal;
  /** The template of the route. */
  output: JsonTemplate | undefined;
  redact: Redact;
}

/** Codes of dead letters, with what the agent did. */
const FAILURES: Partial<Record<A2aState, [code: ErrorCode, did: string]>> = {
  failed: ['AGENT_TASK_FAILED', 'failed'],
  rejected: ['AGENT_TASK_REJECTED', 'was rejected by the agent'],
  'auth-required': ['AGENT_AUTH_REQUIRED', 'needs a login that wa2ai cannot give'],
};

/**
 * The reply for a task that has settled.
 * @throws {AgentTaskError} it failed, was rejected or needs a login. The agent's text is for the admin; the person gets it
 *   only by the template of the route
 */
export async function answerOfTask(task: Task, context: AnswerContext): Promise<AgentResponse> {
  const state = stateOf(task);
  const { id: taskId, contextId } = task;
  const metadata = { a2a: { taskId, contextId, state } };
  const answer = await answerOfParts(answerParts(task), state, taskId, context);
  const failure = FAILURES[state];
  if (!failure) {
    const text = state === 'canceled' ? `Task ${shortTaskId(taskId)} was cancelled.` : answer.text;
    return responseOf({ ...answer, text }, metadata);
  }
  const [code, did] = failure;
  const said = textOf(answerParts(task).flat());
  const why = context.redact(errorText(said));
  const forPerson = context.output && answer.text.trim() !== '' ? answer.text : undefined;
  const sentence = `Task ${taskId} of the A2A agent ${did}${why && `: ${why}`}.`;
  throw new AgentTaskError(code, sentence, forPerson).withDetail(metadata);
}

/** The reply for a message that is no task. */
export async function answerOfMessage(
  parts: readonly Part[],
  contextId: string,
  context: AnswerContext,
): Promise<AgentResponse> {
  return responseOf(await answerOfParts([[...parts]], 'completed', '', context), { a2a: { contextId } });
}

interface Answer extends Pick<AgentResponse, 'files'> {
  text: string;
}

async function answerOfParts(
  groups: ReadonlyArray<readonly Part[]>,
  state: A2aState,
  taskId: string,
  context: AnswerContext,
): Promise<Answer> {
  const { files, links } = await filesOf(groups.flat(), context);
  const texts = groups.map(textOf).filter((text) => text !== '');
  // Data is for programs; it is shown when the agent says nothing else.
  const said = texts.length > 0 || files.length > 0 ? texts : groups.flatMap(dataText);
  const text = [...said, ...links].join('\n\n');
  if (!context.output) return { text: text.slice(0, MAX_REPLY_CHARS), files };
  const shown = renderJsonTemplate(context.output, {
    text,
    state,
    taskId,
    completed: state === 'completed',
    inputRequired: state === 'input-required',
    failed: state === 'failed',
    rejected: state === 'rejected',
    authRequired: state === 'auth-required',
  });
  return { text: shown.slice(0, MAX_REPLY_CHARS), files };
}

function dataText(parts: readonly Part[]): string[] {
  const lines = parts.flatMap(({ content }) =>
    content?.$case === 'data' ? readableFields(content.value) : [],
  );
  return lines.length > 0 ? [lines.join('\n')] : [];
}

function responseOf({ text, files = [] }: Answer, metadata: { a2a: Record<string, unknown> }): AgentResponse {
  return {
    success: true,
    ...(text.trim() !== '' && { response: text }),
    ...(files.length > 0 && { files }),
    metadata,
    detail: metadata,
  };
}
