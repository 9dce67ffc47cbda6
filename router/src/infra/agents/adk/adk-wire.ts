import { z } from 'zod';
import { agentFile, MEDIA_TYPE } from '../../../core/delivery/agent-file.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import {
  type FileLink,
  type IncomingMessage,
  MAX_MEDIA_BYTES,
  type MediaInfo,
  type ReplyFile,
} from '../../../core/models.ts';
import { type Said, say } from '../../../core/phrases.ts';

/** How a server spells the body of `/run`: as the agent contract writes it, or as every real ADK server accepts it. */
export type AdkDialect = 'snake' | 'camel';

/** One run: what is sent, in which session, under which WhatsApp message id. */
export interface RunRequest {
  appName: string;
  userId: string;
  sessionId: string;
  text: string;
  /** Earlier messages of the chat; a part before the text. */
  context?: string;
  waMessageId: string;
  /** Facts about the message that the agent receives beside its text; see `sessionStateOf`. */
  state?: Record<string, unknown>;
  /** A part beside the text; a file alone has no text part. */
  file?: FilePart;
}

/** A part with a file; `data` is base64. */
export type FilePart =
  | { inlineData: { mimeType: string; data: string; displayName?: string } }
  | { fileData: { mimeType: string; fileUri: string; displayName?: string } };

/**
 * The body of `POST /run`. `snake` is exactly that of the agent contract. `camel` is the minimum that every server accepts:
 * a strict one refuses unknown fields, so it has neither `invocationId` nor a second spelling. The server stores its
 * `stateDelta`, which names the message, with the user event.
 * @param isStreaming the body of `POST /run_sse`: the model writes its answer in partial events
 */
export function runBody(dialect: AdkDialect, run: RunRequest, isStreaming = false): Record<string, unknown> {
  const { file } = run;
  const said = file ? [...(run.text ? [{ text: run.text }] : []), file] : [{ text: run.text }];
  const parts = run.context === undefined ? said : [{ text: `${run.context}\n\n` }, ...said];
  if (dialect === 'snake') {
    return {
      app_name: run.appName,
      user_id: run.userId,
      session_id: run.sessionId,
      new_message: { parts },
      streaming: false,
      state_delta: null,
      invocation_id: null,
    };
  }
  return {
    appName: run.appName,
    userId: run.userId,
    sessionId: run.sessionId,
    newMessage: { role: 'user', parts },
    streaming: isStreaming,
    stateDelta: { ...run.state, [MARKER]: run.waMessageId },
  };
}

/** Python servers of some versions write the names of fields with underscores. */
function camelFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const named = Object.entries(value).map(([name, inner]): [string, unknown] => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    inner,
  ]);
  // What is written in both ways counts in camelCase.
  return { ...Object.fromEntries(named), ...value };
}

const partFields = z.looseObject({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  functionCall: z.unknown().optional(),
  functionResponse: z.unknown().optional(),
  codeExecutionResult: z.unknown().optional(),
});

const partSchema = z.preprocess(camelFields, partFields);

const eventFields = z.looseObject({
  author: z.string().nullish(),
  content: z.looseObject({ role: z.string().nullish(), parts: z.array(partSchema).nullish() }).nullish(),
  invocationId: z.string().nullish(),
  partial: z.boolean().nullish(),
  branch: z.string().nullish(),
  errorCode: z.union([z.string(), z.number()]).nullish(),
  errorMessage: z.string().nullish(),
  longRunningToolIds: z.array(z.unknown()).nullish(),
  finishReason: z.unknown().optional(),
  usageMetadata: z.unknown().optional(),
  id: z.string().nullish(),
  actions: z.preprocess(
    camelFields,
    z
      .looseObject({
        requestedAuthConfigs: z.unknown().optional(),
        stateDelta: z.record(z.string(), z.unknown()).nullish(),
        skipSummarization: z.boolean().nullish(),
      })
      .nullish(),
  ),
});

const eventSchema = z.preprocess(camelFields, eventFields);

/** One event of a run, as far as wa2ai reads it; unknown fields pass. */
export type AdkEvent = z.infer<typeof eventSchema>;

export type Parsed<T> = { ok: true; value: T } | { ok: false; problem: Said };

/**
 * The events in the body of an answer to `/run`. JSON `null` counts as none: a Go server writes an empty list so.
 * A problem is a sentence that names the place, and never quotes the body.
 */
export function parseEvents(body: string): Parsed<AdkEvent[]> {
  const json = parseJson(body);
  if (!json.ok) return json;
  if (json.value === null) return { ok: true, value: [] };
  if (!Array.isArray(json.value)) {
    return { ok: false, problem: say('adk.not-array', { kind: kindOf(json.value) }) };
  }
  return check(z.array(eventSchema), json.value, 'events');
}

const sessionSchema = z.looseObject({ events: z.array(eventSchema).nullish() });

/** The stored events in the body of `GET /apps/{app}/users/{user}/sessions/{session}`, oldest first. */
export function parseSessionEvents(body: string): Parsed<AdkEvent[]> {
  const json = parseJson(body);
  if (!json.ok) return json;
  const session = check(sessionSchema, json.value, 'session');
  return session.ok ? { ok: true, value: session.value.events ?? [] } : session;
}

/** Whether the body of `GET /apps/{app}/users/{user}/sessions/{session}` is a session in camelCase. */
export function isCamelCaseSession(body: string): boolean {
  const json = parseJson(body);
  return json.ok && z.looseObject({ id: z.string(), appName: z.string() }).safeParse(json.value).success;
}

/** The names in the body of `GET /list-apps`: an array of strings, or of objects with a `name`; else none. */
export function parseAppNames(body: string): string[] {
  const json = parseJson(body);
  if (!json.ok) return [];
  const list = Array.isArray(json.value)
    ? json.value
    : z.looseObject({ apps: z.array(z.unknown()) }).safeParse(json.value).data?.apps;
  const named = z.union([z.string(), z.looseObject({ name: z.string() }).transform((app) => app.name)]);
  return (list ?? []).flatMap((app) => named.safeParse(app).data ?? []);
}

function parseJson(text: string): Parsed<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, problem: say(text.trim() === '' ? 'adk.empty' : 'adk.not-json') };
  }
}

function check<T>(schema: z.ZodType<T>, value: unknown, name: string): Parsed<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
  return {
    ok: false,
    problem: say('adk.not-adk', { place: `${name}${path.join('')}`, why: issue?.message ?? 'unknown' }),
  };
}

function kindOf(value: unknown): string {
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The result of a run. `text`: for the person · `silent`: the agent says nothing · `failed`: it reported an error. */
export type RunAnswer = RunFacts &
  (
    | { kind: 'text'; text: string }
    | { kind: 'silent' }
    | { kind: 'failed'; code: string; reason: string; isRepeatable: boolean }
  );

/** Facts about a run beside its text; absent where the server did not send them. */
interface RunFacts {
  eventCount: number;
  invocationId?: string;
  author?: string;
  finishReason?: string;
  usage?: unknown;
  stateDelta?: Record<string, unknown>;
}

/**
 * Reads a run's events as the agent contract and real servers need it (refs/adk_api.md, "Reading the answer").
 *
 * A reply is a complete model event with a text that is no thought. If one of them has the author `model`, only those
 * count (the contract); otherwise the author is the agent's own name and all count. The last reply is the answer; when
 * the last ones come from parallel branches, the last of each branch, in order, with a blank line between.
 * With no reply, an event with an `errorCode` makes the run failed, and else it is silent.
 */
export function readAnswer(events: AdkEvent[]): RunAnswer {
  const replies = events.filter(isReply);
  const fromModel = replies.filter((event) => event.author === 'model');
  const chosen = lastOfEachBranch(fromModel.length > 0 ? fromModel : replies);
  const failure = events.findLast((event) => event.errorCode);
  const facts = runFactsOf(events, chosen.at(-1) ?? failure ?? events.at(-1));
  if (chosen.length > 0) return { ...facts, kind: 'text', text: chosen.map(textOf).join('\n\n') };
  if (!failure) return { ...facts, kind: 'silent' };
  const code = String(failure.errorCode);
  const reason = failure.errorMessage ?? '';
  const isRepeatable = isTransient(code, reason) && !events.some(callsTool);
  return { ...facts, kind: 'failed', code, reason, isRepeatable };
}

/** Whether the run that left these events has come to an end, by ADK's own rule for a final event. */
export function isFinished(events: AdkEvent[]): boolean {
  const last = events.at(-1);
  if (!last) return false;
  if (last.errorCode || last.actions?.skipSummarization || last.longRunningToolIds?.length) return true;
  const parts = partsOf(last);
  return (
    !last.partial &&
    !parts.some((part) => part.functionCall || part.functionResponse) &&
    !parts.at(-1)?.codeExecutionResult
  );
}

/** The events of the run that the message started, without its user event; undefined when the session does not have it. */
export function eventsOfMessage(sessionEvents: AdkEvent[], waMessageId: string): AdkEvent[] | undefined {
  const at = sessionEvents.findLastIndex((event) => event.actions?.stateDelta?.[MARKER] === waMessageId);
  const message = sessionEvents[at];
  if (!message) return undefined;
  return sessionEvents
    .slice(at + 1)
    .filter((event) => event.author !== 'user' && event.invocationId === message.invocationId);
}

/** Whether these events come from an ADK server, all of which read camelCase, and not from a server of the contract. */
export function areOfAdkServer(events: AdkEvent[]): boolean {
  return events.some(({ id, actions }) => id && actions?.requestedAuthConfigs !== undefined);
}

function partsOf(event: AdkEvent) {
  return event.content?.parts ?? [];
}

function textOf(event: AdkEvent): string {
  return partsOf(event)
    .filter((part) => !part.thought)
    .map((part) => part.text ?? '')
    .join('');
}

function isReply(event: AdkEvent): boolean {
  return !event.partial && (textOfReply(event) ?? '').trim() !== '';
}

/** What a complete or partial event of the model says to the person, without thoughts; undefined for any other event. */
export function textOfReply(event: AdkEvent): string | undefined {
  const role = event.content?.role;
  const isModel = !role || role === 'model' || role === 'assistant';
  return event.author === 'user' || !isModel ? undefined : textOf(event);
}

function callsTool(event: AdkEvent): boolean {
  return partsOf(event).some((part) => part.functionCall);
}

function lastOfEachBranch(replies: AdkEvent[]): AdkEvent[] {
  const last = replies.at(-1);
  if (!last?.branch) return last ? [last] : [];
  const afterUnbranched = replies.slice(replies.findLastIndex((event) => !event.branch) + 1);
  return afterUnbranched.filter(
    (event, index) => !afterUnbranched.slice(index + 1).some((later) => later.branch === event.branch),
  );
}

/** A model's overload, by Google's status names and numbers: a later attempt may help. */
function isTransient(code: string, reason: string): boolean {
  return (
    /^(429|503|RESOURCE_EXHAUSTED|UNAVAILABLE)$/.test(code) ||
    /RESOURCE_EXHAUSTED|"code":\s*(429|503)\b/.test(reason)
  );
}

function runFactsOf(events: AdkEvent[], shown: AdkEvent | undefined): RunFacts {
  const state = Object.assign({}, ...events.map((event) => event.actions?.stateDelta ?? {}));
  for (const key of Object.keys(state)) if (key.startsWith(STATE_PREFIX)) delete state[key];
  return {
    eventCount: events.length,
    ...(shown?.invocationId && { invocationId: shown.invocationId }),
    ...(shown?.author && { author: shown.author }),
    ...(typeof shown?.finishReason === 'string' && { finishReason: shown.finishReason }),
    ...(shown?.usageMetadata ? { usage: shown.usageMetadata } : {}),
    ...(Object.keys(state).length > 0 && { stateDelta: state }),
  };
}

/** How a server says that the session is not there: JS, Python and older Python, Go. */
export function isSessionMissing(status: number, body: string): boolean {
  return status === 404 && /session not found|failed to get session/i.test(body);
}

/** Whether the server created the session, or says that it exists already. */
export function isSessionThere(status: number, body: string): boolean {
  return (
    status === 200 || status === 201 || status === 409 || (status === 400 && /already exists/i.test(body))
  );
}

/** Prefix of all wa2ai keys in the session state. */
const STATE_PREFIX = 'wa2ai_';
/** Session state key that marks wa2ai's user event, so that its run can be found after a time-out (refs/adk_api.md). */
const MARKER = `${STATE_PREFIX}msg`;

/**
 * Facts about a message that an ADK agent receives, as keys of its session state; an instruction reads one as `{wa2ai_name}`.
 * Every key is sent with every message, empty if it has no value, so that no value of an earlier message remains. The text
 * of the message is sent as the person wrote it.
 *
 * - `wa2ai_msg` WhatsApp's message id
 * - `wa2ai_time` when the person sent it, ISO 8601 in UTC
 * - `wa2ai_name` the name that the person chose on WhatsApp
 * - `wa2ai_chat` `person` or `group`
 * - `wa2ai_quoted` the text that the message quotes
 * - `wa2ai_edit_of` the id of the message that this one edits
 * - `wa2ai_mentions` the people whom the text mentions: a list of `{ id, tag, name }`, where `id` is a JID, `tag` is how the
 *   text names the person (`@` and digits), and `name` is empty when it is unknown
 * - `wa2ai_number` and `wa2ai_lid` the person's number (digits) and LID (`<digits>@lid`)
 * - `wa2ai_subject` the name of the group
 * - `wa2ai_language` the language of the person's words or country: `en`, `es`, `pt`, `de`, `fr`
 * - `wa2ai_quoted_by` who wrote the quoted message: `{ id, name }`
 * - `wa2ai_kind` the kind of the message, `wa2ai_file` its file: `{ kind, mimeType, fileName, sizeBytes }`
 * - `wa2ai_card` a location, contacts, a poll, an event, a link or a choice, with its `kind`
 * - `wa2ai_transcript` whether the text is the transcript of a voice message
 *
 * Only the camelCase spelling carries them: the agent contract fixes `state_delta` as null.
 */
export function sessionStateOf(message: IncomingMessage): Record<string, unknown> {
  const facts = factsOf(message);
  const { quoted: { text: quoted = '', ...quotedBy } = {} } = facts;
  const values = {
    time: facts.time,
    name: facts.name ?? '',
    number: facts.number ?? '',
    lid: facts.lid ?? '',
    chat: facts.chat,
    subject: facts.subject ?? '',
    language: facts.language ?? '',
    quoted,
    quoted_by: quotedBy,
    edit_of: facts.editOf ?? '',
    mentions: (facts.mentions ?? []).map(({ id, tag, name = '' }) => ({ id, tag, name })),
    kind: facts.kind,
    file: facts.file ?? {},
    card: facts.card ?? {},
    transcript: facts.isTranscript ?? false,
  };
  const state = Object.entries(values).map(([name, value]) => [`${STATE_PREFIX}${name}`, value]);
  return { [MARKER]: facts.messageId, ...Object.fromEntries(state) };
}

/** Largest number of files of one answer that are sent; further ones are dropped. */
const MAX_FILES = 10;

const filePart = z.looseObject({
  thought: z.boolean().nullish(),
  inlineData: z.looseObject({
    mimeType: z.string().regex(MEDIA_TYPE),
    data: z.string().min(1),
    displayName: z.string().nullish(),
  }),
});

const linkPart = z.looseObject({
  thought: z.boolean().nullish(),
  fileData: z.looseObject({
    fileUri: z.string().regex(/^https?:\/\//i),
    mimeType: z.string().regex(MEDIA_TYPE).nullish(),
    displayName: z.string().nullish(),
  }),
});

/**
 * What Gemini models read. A file stays in the session: a model that cannot read it would refuse each later message too.
 * https://ai.google.dev/gemini-api/docs/document-processing, and the pages about images, audio and video.
 */
const READABLE =
  /^(?:image\/(?:jpeg|png|webp|heic|heif)|audio\/(?:ogg|mpeg|mp3|mp4|aac|wav|x-wav|flac|aiff)|video\/(?:mp4|mpeg|webm|quicktime|3gpp)|application\/pdf|text\/plain)(?:;|$)/i;

/** Whether an agent gets a file where its settings do not say it. */
export function isReadable({ mimeType, sizeBytes = 0 }: MediaInfo): boolean {
  return READABLE.test(mimeType.trim()) && sizeBytes <= MAX_MEDIA_BYTES;
}

/** A message's file as a part of `newMessage`: every ADK server accepts camelCase inside parts (refs/adk_api.md). */
export function inlineDataOf({ mimeType, fileName }: MediaInfo, bytes: Uint8Array): FilePart {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return { inlineData: { mimeType, data, ...(fileName !== undefined && { displayName: fileName }) } };
}

/** The same with an address in place of the bytes. */
export function fileDataOf({ mimeType, fileName }: MediaInfo, fileUri: string): FilePart {
  return { fileData: { mimeType, fileUri, ...(fileName !== undefined && { displayName: fileName }) } };
}

/**
 * The files in a run's complete model events, in order, without those of thoughts. Reads both alphabets of base64.
 * @throws {AgentProtocolError} one is too large to be sent
 */
export function filesIn(events: readonly AdkEvent[]): ReplyFile[] {
  return partsOfAnswer(events)
    .flatMap((part) => filePart.safeParse(part).data ?? [])
    .filter(({ thought }) => !thought)
    .slice(0, MAX_FILES)
    .map(({ inlineData: { mimeType, data, displayName } }) =>
      agentFile({ mimeType, data, fileName: displayName }),
    )
    .filter(({ bytes }) => bytes.length > 0);
}

/** The files that they name by an address of the web, likewise. */
export function fileLinksIn(events: readonly AdkEvent[]): FileLink[] {
  return partsOfAnswer(events)
    .flatMap((part) => linkPart.safeParse(part).data ?? [])
    .filter(({ thought }) => !thought)
    .slice(0, MAX_FILES)
    .map(({ fileData: { fileUri, mimeType, displayName } }) => ({
      url: fileUri,
      ...(mimeType && { mimeType }),
      ...(displayName && { fileName: displayName }),
    }));
}

function partsOfAnswer(events: readonly AdkEvent[]): unknown[] {
  return events
    .filter(
      ({ author, partial, content }) =>
        author !== 'user' && !partial && (content?.role ?? 'model') === 'model',
    )
    .flatMap(({ content }) => content?.parts ?? []);
}
