import type { Part, Task } from '@a2a-js/sdk';
import { shownAs } from '../../../../core/delivery/agent-file.ts';
import { AgentProtocolError, AgentTaskError, type ErrorCode } from '../../../../core/errors.ts';
import {
  type AgentResponse,
  MAX_MEDIA_BYTES,
  type MediaInfo,
  type ReplyFile,
} from '../../../../core/models.ts';
import { say } from '../../../../core/phrases.ts';
import { type SayInChat, sayInEnglish } from '../../../../core/policies/texts.ts';
import { shortTaskId } from '../../../../core/tasks.ts';
import type { OwnHeaders } from '../../card-address.ts';
import { type JsonTemplate, readableFields, renderJsonTemplate } from '../../json-template.ts';
import type { AgentTransport, Redact } from '../../transport/agent-transport.ts';
import { errorText } from '../../transport/error-text.ts';
import { type A2aState, answerParts, stateOf, textOf } from '../wire/task-updates.ts';

/** Longest text of a reply; WhatsApp shows no longer message. */
const MAX_REPLY_CHARS = 60_000;

export interface AnswerContext extends Pick<OwnHeaders, 'headersFor'> {
  transport: AgentTransport;
  signal: AbortSignal;
  /** The template of the route. */
  output: JsonTemplate | undefined;
  redact: Redact;
  /** Absent: in English. */
  sayInChat?: SayInChat | undefined;
}

/** Codes of dead letters, with the codes of their sentences. */
const FAILURES: Partial<
  Record<
    A2aState,
    [code: ErrorCode, sentence: 'a2a.task-failed' | 'a2a.task-rejected' | 'a2a.task-needs-login']
  >
> = {
  failed: ['AGENT_TASK_FAILED', 'a2a.task-failed'],
  rejected: ['AGENT_TASK_REJECTED', 'a2a.task-rejected'],
  'auth-required': ['AGENT_AUTH_REQUIRED', 'a2a.task-needs-login'],
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
    const { sayInChat = sayInEnglish } = context;
    const text =
      state === 'canceled' ? sayInChat('taskCanceled', { task: shortTaskId(taskId) }) : answer.text;
    return responseOf({ ...answer, text }, metadata);
  }
  const [code, sentence] = failure;
  const why = context.redact(errorText(textOf(answerParts(task).flat())));
  const forPerson = context.output && answer.text.trim() !== '' ? answer.text : undefined;
  const said = say(sentence, { task: taskId, details: why && `: ${why}` });
  throw new AgentTaskError(code, said, forPerson).withDetail(metadata);
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

/** Largest number of files of one answer that are sent; further ones are dropped. */
const MAX_FILES = 10;
const MAX_NAME_CHARS = 200;
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/;

/** A person's file as a part of a message. */
export function partOfFile({ mimeType, fileName }: MediaInfo, bytes: Uint8Array): Part {
  return {
    content: { $case: 'raw', value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
    metadata: undefined,
    filename: fileName ?? '',
    mediaType: mimeType,
  };
}

/** Files of an answer, and a line for each one that could not be loaded. */
interface AnswerFiles {
  files: ReplyFile[];
  links: string[];
}

/**
 * The files among these parts, in order. One that is only named by a URL is loaded, with the limits of every request; when
 * that fails the person gets its address.
 * @throws {AgentProtocolError} one that the answer contains is too large to be sent
 */
export async function filesOf(
  parts: readonly Part[],
  {
    transport,
    headersFor,
    signal,
  }: { transport: AgentTransport; signal: AbortSignal } & Pick<OwnHeaders, 'headersFor'>,
): Promise<AnswerFiles> {
  const found: AnswerFiles = { files: [], links: [] };
  for (const part of parts) {
    const { content, filename, mediaType } = part;
    if (found.files.length + found.links.length >= MAX_FILES) break;
    if (content?.$case === 'raw') {
      if (content.value.length > MAX_MEDIA_BYTES) throw tooLarge(content.value.length);
      if (content.value.length > 0) found.files.push(fileOf(content.value, mediaType, filename));
    }
    if (content?.$case !== 'url') continue;
    const url = content.value;
    const loaded = isHttp(url) ? await load(url) : undefined;
    if (loaded) found.files.push(fileOf(loaded.body, mediaType || loaded.type, filename || nameIn(url)));
    else if (isHttp(url)) found.links.push(filename ? `${filename}: ${url}` : url);
  }
  return found;

  async function load(url: string): Promise<{ body: Buffer; type: string } | undefined> {
    const headers = headersFor(url);
    const fetched = await transport.fetch(url, { method: 'GET', headers, signal, maxBytes: MAX_MEDIA_BYTES });
    if (fetched.kind === 'fault' || fetched.status !== 200 || fetched.body.length === 0) return undefined;
    return { body: fetched.body, type: fetched.headers.get('content-type') ?? '' };
  }
}

function tooLarge(bytes: number): AgentProtocolError {
  return new AgentProtocolError(say('a2a.file-too-large', { bytes, max: MAX_MEDIA_BYTES }));
}

function fileOf(bytes: Uint8Array, written: string, name: string): ReplyFile {
  const mimeType = MEDIA_TYPE.exec(written)?.[0] ?? 'application/octet-stream';
  const fileName = name.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
  return { ...shownAs(mimeType, bytes), ...(fileName && { fileName }), bytes };
}

function isHttp(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}

function nameIn(url: string): string {
  return new URL(url).pathname.split('/').at(-1) ?? '';
}
