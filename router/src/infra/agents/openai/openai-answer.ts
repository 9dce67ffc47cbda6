import { z } from 'zod';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { changed, type Said, say } from '../../../core/phrases.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { detailsOf, type Redact, rejectedError } from '../transport/agent-transport.ts';
import { type Fetched, redirectHint } from '../transport/bounded-fetch.ts';
import { bodyText, errorText, parsedJson } from '../transport/error-text.ts';
import type { OpenAiApi } from './openai-settings.ts';

/** An error that a server reports as JSON, with any status. */
interface ReportedError {
  message: string;
  /** `model_not_found`, `insufficient_quota` …, or an HTTP status as text. */
  code?: string;
  type?: string;
}

/** What the model wrote. `text` may contain reasoning (`withoutReasoning`). */
export interface ModelAnswer {
  text: string;
  /** The model wrote reasoning beside its text. */
  hasReasoning?: boolean;
  /** The model declined in these words; they are for the person. */
  refusal?: string;
  /** Why it ended: `stop`, `length`, `tool_calls`, `content_filter`, or the server's own word. */
  finishReason?: string;
  /** Tools that the model wants to use. */
  tools: string[];
  id?: string;
  model?: string;
  usage?: Record<string, unknown>;
}

type ReadAnswer =
  | { kind: 'answer'; answer: ModelAnswer }
  | { kind: 'error'; error: ReportedError }
  /** `problem` follows "The server's answer". */
  | { kind: 'unreadable'; problem: Said };

const errorSchema = z.union([
  z.string().transform((message): ReportedError => ({ message })),
  z
    .looseObject({
      message: z.string().nullish(),
      code: z.union([z.string(), z.number()]).nullish(),
      type: z.string().nullish(),
    })
    .transform(({ message, code, type }): ReportedError => {
      const known = code ?? undefined;
      return {
        message: message ?? '',
        ...(known !== undefined && { code: String(known) }),
        ...(type && { type }),
      };
    }),
]);

const partSchema = z.union([
  z.string().transform((text) => ({ type: 'text', text, refusal: undefined })),
  z
    .looseObject({
      type: z.string().default('text'),
      text: z.union([z.string(), z.looseObject({ value: z.string() })]).nullish(),
      refusal: z.string().nullish(),
    })
    .transform(({ type, text, refusal }) => ({
      type,
      text: typeof text === 'string' ? text : text?.value,
      refusal: refusal ?? undefined,
    })),
]);

const common = {
  id: z.string().nullish().catch(undefined),
  model: z.string().nullish().catch(undefined),
  usage: z.record(z.string(), z.unknown()).nullish().catch(undefined),
};

const toolSchema = z.looseObject({
  function: z.looseObject({ name: z.string() }).nullish().catch(undefined),
});

const chatSchema = z.looseObject({
  ...common,
  choices: z
    .array(
      z.looseObject({
        finish_reason: z.string().nullish().catch(undefined),
        error: errorSchema.nullish().catch(undefined),
        message: z.looseObject({
          content: z.union([z.string(), z.array(partSchema)]).nullish(),
          reasoning_content: z.string().nullish().catch(undefined),
          reasoning: z.string().nullish().catch(undefined),
          refusal: z.string().nullish().catch(undefined),
          tool_calls: z.array(toolSchema).nullish().catch(undefined),
          function_call: z.looseObject({ name: z.string() }).nullish().catch(undefined),
        }),
      }),
    )
    .min(1),
});

const responsesSchema = z.looseObject({
  ...common,
  status: z.string().nullish(),
  incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish().catch(undefined),
  output: z.array(
    z.looseObject({
      type: z.string(),
      name: z.string().nullish().catch(undefined),
      content: z.array(partSchema).nullish().catch(undefined),
    }),
  ),
});

const TEXT_TYPES = new Set(['text', 'output_text']);

/** Reads the body of a successful status. Fields that wa2ai does not use may have any form. */
export function readModelAnswer(api: OpenAiApi, body: string): ReadAnswer {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { kind: 'unreadable', problem: notJson(body) };
  }
  const error = reportedErrorIn(json);
  if (error) return { kind: 'error', error };
  return api === 'chat' ? readChat(json) : readResponse(json);
}

/** The error object of an answer: `{"error": {...}}`, or `{"error": "…"}`; undefined when there is none. */
export function reportedErrorIn(json: unknown): ReportedError | undefined {
  // Some servers wrap their answer to an error in a list.
  const [first] = Array.isArray(json) ? json : [json];
  return z.looseObject({ error: errorSchema }).safeParse(first).data?.error;
}

function readChat(json: unknown): ReadAnswer {
  const parsed = chatSchema.safeParse(json);
  const choice = parsed.data?.choices[0];
  if (!parsed.success || !choice) return { kind: 'unreadable', problem: problemOf(parsed.error) };
  if (choice.error) return { kind: 'error', error: choice.error };
  const { content, refusal, tool_calls: calls, function_call: call } = choice.message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const tools = [
    ...(calls ?? []).map((tool) => tool.function?.name ?? 'unnamed'),
    ...(call ? [call.name] : []),
  ];
  const hasReasoning = Boolean(choice.message.reasoning_content || choice.message.reasoning);
  return answerOf(parsed.data, parts, { refusal, finishReason: choice.finish_reason, tools, hasReasoning });
}

function readResponse(json: unknown): ReadAnswer {
  const parsed = responsesSchema.safeParse(json);
  if (!parsed.success) return { kind: 'unreadable', problem: problemOf(parsed.error) };
  const { output, status, incomplete_details: incomplete } = parsed.data;
  const parts = output.filter(({ type }) => type === 'message').flatMap(({ content }) => content ?? []);
  const tools = output.filter(({ type }) => type === 'function_call').map(({ name }) => name ?? 'unnamed');
  const reason = incomplete?.reason === 'max_output_tokens' ? 'length' : incomplete?.reason;
  return answerOf(parsed.data, parts, {
    finishReason: reason ?? (status === 'completed' ? 'stop' : status),
    tools,
    hasReasoning: output.some(({ type }) => type === 'reasoning'),
  });
}

function answerOf(
  { id, model, usage }: { id?: string | null; model?: string | null; usage?: Record<string, unknown> | null },
  parts: ReadonlyArray<{ type: string; text?: string; refusal?: string }>,
  end: { refusal?: string | null; finishReason?: string | null; tools: string[]; hasReasoning: boolean },
): ReadAnswer {
  const text = parts.map((part) => (TEXT_TYPES.has(part.type) ? (part.text ?? '') : '')).join('');
  const refusal = end.refusal || parts.map((part) => part.refusal ?? '').join('');
  const answer: ModelAnswer = {
    text,
    tools: end.tools,
    ...(refusal && { refusal }),
    ...(end.hasReasoning && { hasReasoning: true }),
    ...(end.finishReason && { finishReason: end.finishReason }),
    ...(id && { id }),
    ...(model && { model }),
    ...(usage && { usage }),
  };
  return { kind: 'answer', answer };
}

function problemOf(error: z.ZodError | undefined): Said {
  const path = error?.issues[0]?.path.map(String).join('.');
  return path ? say('openai.unusable-field', { path }) : say('openai.not-object');
}

function notJson(body: string): Said {
  const start = body.trimStart();
  if (start === '') return say('openai.empty');
  if (start.startsWith('<')) return say('openai.web-page');
  if (start.startsWith('data:')) return say('openai.stream');
  return say('openai.not-json');
}

/** What errors need to know about the request. */
export interface ErrorContext {
  /** Name of the server. */
  server: string;
  model: string;
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** Statuses after which every client of the protocol repeats the request. */
const REPEATABLE = new Set([408, 409, 425, 500, 529]);

/** Codes of an account without credit: a repeat does not help. */
const NO_CREDIT = /insufficient_quota|billing|insufficient_(?:balance|credit|funds)|payment_required/i;

/** The error for an exchange without a complete answer. */
export function faultError(
  { fault, detail, cause }: Fetched & { kind: 'fault' },
  { server, timeoutMs, redact }: ErrorContext,
): Wa2aiError {
  const why = changed(detail, redact);
  const agent = say('agent-name.model-server', { server });
  switch (fault) {
    case 'refused':
      return new AgentProtocolError(say('agent.not-called', { agent, why }), {
        code: 'AGENT_ADDRESS_REFUSED',
      });
    case 'not-connected':
      return new AgentUnavailableError(say('agent.cannot-be-reached', { agent, why }), {
        cause,
        isAway: true,
      });
    case 'too-large':
      return new AgentProtocolError(say('agent.answered-too-much', { agent, why }));
    case 'aborted':
      return new AgentTimeoutError(
        say('openai.silent', { error: say('agent.silent', { agent, ms: timeoutMs }) }),
        { cause },
      );
    default:
      return new AgentUnavailableError(say('agent.connection-ended', { agent, why }), {
        cause,
        mayHaveRun: true,
      });
  }
}

/** The error for a status that is not a success. */
export function refusalError(
  { status, headers, body }: Fetched & { kind: 'answer' },
  context: ErrorContext,
): Wa2aiError {
  const text = bodyText({ headers, body });
  const reported = reportedErrorIn(parsedJson(text)) ?? { message: errorText(text) };
  const sentence = sentenceOf(status, reported, context, redirectHint({ status, headers }));
  if (status === 402 || isWithoutCredit(reported)) return new AgentProtocolError(sentence);
  const rejected = rejectedError({ status, headers }, sentence, context.nowMs);
  if (rejected) return rejected;
  if (status === 504 || status === 524) return new AgentTimeoutError(sentence);
  if (REPEATABLE.has(status)) return new AgentUnavailableError(sentence, { mayHaveRun: status === 500 });
  return new AgentProtocolError(sentence);
}

/** The error for an error object in an answer with a successful status. */
export function reportedError(reported: ReportedError, context: ErrorContext): Wa2aiError {
  const status = Number(reported.code);
  const isTemporary =
    status === 429 || status >= 500 || /rate_limit|overloaded|server_error|timeout/i.test(wordsOf(reported));
  const sentence = sentenceOf(Number.isInteger(status) ? status : 200, reported, context);
  if (isTemporary && !isWithoutCredit(reported)) {
    return new AgentUnavailableError(sentence, { mayHaveRun: true });
  }
  return new AgentProtocolError(sentence, { code: 'AGENT_REPORTED_ERROR' });
}

function isWithoutCredit(reported: ReportedError): boolean {
  return NO_CREDIT.test(wordsOf(reported));
}

function wordsOf({ code = '', type = '' }: ReportedError): string {
  return `${code} ${type}`;
}

function sentenceOf(
  status: number,
  reported: ReportedError,
  { server, model, redact }: ErrorContext,
  redirect?: Said,
): Said {
  const hidden = (text: string) => redact(text).replace(/\b(sk|pk|key)-[\w*.-]{6,}/g, '[secret]');
  const words = `${wordsOf(reported)} ${reported.message}`;
  const details = detailsOf(withoutTrailing(errorText(reported.message), '. \n'), redirect, hidden);
  const at = { server, details };
  const answered =
    status === 200 ? say('openai.answered-error', at) : say('openai.answered-status', { ...at, status });
  if (status === 401) return say('openai.key-refused', at);
  if (status === 403) return say('openai.access-denied', at);
  if (status === 402 || isWithoutCredit(reported)) {
    return say('openai.no-credit', { error: answered });
  }
  if (isUnknownModel(words)) {
    return say('openai.no-model', { ...at, model, status });
  }
  if (status === 404 || status === 405) {
    return say('openai.check-address', { error: answered });
  }
  if (/context_length|context length|maximum context|too many tokens/i.test(words)) {
    return say('openai.long-context', { error: answered });
  }
  return answered;
}

function isUnknownModel(words: string): boolean {
  const said = words.toLowerCase();
  if (said.includes('model_not_found') || said.includes('unknown_model')) return true;
  const model = said.indexOf('model ');
  return model >= 0 && /not found|not exist/.test(said.slice(model));
}
