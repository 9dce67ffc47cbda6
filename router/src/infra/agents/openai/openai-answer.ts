import { z } from 'zod';
import type { OpenAiApi } from './openai-settings.ts';

/** An error that a server reports as JSON, with any status. */
export interface ReportedError {
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

export type ReadAnswer =
  | { kind: 'answer'; answer: ModelAnswer }
  | { kind: 'error'; error: ReportedError }
  /** `problem` follows "The server's answer". */
  | { kind: 'unreadable'; problem: string };

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

function problemOf(error: z.ZodError | undefined): string {
  const path = error?.issues[0]?.path.map(String).join('.');
  return path ? `has no usable "${path}"` : 'is not the JSON object of this API';
}

function notJson(body: string): string {
  const start = body.trimStart();
  if (start === '') return 'is empty';
  if (start.startsWith('<')) return 'is a web page; check the address of the server';
  if (start.startsWith('data:')) return 'is a stream, though none was asked for';
  return 'is not JSON';
}
