import { z } from 'zod';
import { withoutReasoning } from '../../../core/policies/reasoning.ts';
import { reportedErrorIn } from './openai-answer.ts';
import type { OpenAiApi } from './openai-settings.ts';

const END = '[DONE]';

const delta = z.looseObject({
  content: z
    .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.unknown().optional() }))])
    .nullish(),
  reasoning_content: z.string().nullish().catch(undefined),
  reasoning: z.string().nullish().catch(undefined),
  refusal: z.string().nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        index: z.number().nullish(),
        function: z.looseObject({ name: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});

const chatEvent = z.looseObject({
  id: z.string().nullish(),
  model: z.string().nullish(),
  usage: z.unknown().optional(),
  choices: z
    .array(
      z.looseObject({
        index: z.number().nullish(),
        delta: delta.nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
});

const responseEvent = z.looseObject({
  type: z.string(),
  delta: z.unknown().optional(),
  response: z.unknown().optional(),
  message: z.unknown().optional(),
  code: z.unknown().optional(),
});

const RESPONSE_ENDS = ['response.completed', 'response.incomplete', 'response.failed'];

/** The events of a model's answer, and what they are together: the body that the same request without `stream` has. */
export class OpenAiStream {
  readonly #api: OpenAiApi;
  readonly #onText: (textSoFar: () => string) => void;
  #text = '';
  #refusal = '';
  #hasReasoning = false;
  readonly #tools = new Map<number, string>();
  #finishReason: string | undefined;
  /** Of the last event that has them. */
  #about: Record<string, unknown> = {};
  #whole: unknown;
  #hasEnded = false;
  #isEmpty = true;

  /** @param onText gets the text for the person, without reasoning, as far as it is written */
  constructor(api: OpenAiApi, onText: (textSoFar: () => string) => void) {
    this.#api = api;
    this.#onText = onText;
  }

  /** No event came: the server answered in one piece. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** @param data the data of one server-sent event; what is not an event of the API is ignored */
  add(data: string): void {
    this.#isEmpty = false;
    if (data.trim() === END) {
      this.#hasEnded = true;
      return;
    }
    const json = parsed(data);
    const error = reportedErrorIn(json);
    if (error) this.#end({ error });
    else if (this.#api === 'chat') this.#readChat(json);
    else this.#readResponse(json);
  }

  /** The body of the whole answer; undefined when the events ended before it did. */
  get body(): string | undefined {
    if (!this.#hasEnded) return undefined;
    if (this.#whole !== undefined) return JSON.stringify(this.#whole);
    if (this.#api === 'responses') return undefined;
    const tools = [...this.#tools.values()].map((name) => ({ function: { name } }));
    const message = {
      content: this.#text,
      ...(this.#hasReasoning && { reasoning: '…' }),
      ...(this.#refusal && { refusal: this.#refusal }),
      ...(tools.length > 0 && { tool_calls: tools }),
    };
    return JSON.stringify({ ...this.#about, choices: [{ message, finish_reason: this.#finishReason }] });
  }

  #readChat(json: unknown): void {
    const { data: event } = chatEvent.safeParse(json);
    if (!event) return;
    const { id, model, usage } = event;
    this.#about = { ...this.#about, ...(id && { id }), ...(model && { model }), ...(usage ? { usage } : {}) };
    const choice = event.choices?.find(({ index }) => !index);
    const { content, refusal, tool_calls, reasoning_content, reasoning } = choice?.delta ?? {};
    this.#hasReasoning ||= Boolean(reasoning_content || reasoning);
    this.#refusal += refusal ?? '';
    for (const { index, function: called } of tool_calls ?? []) {
      if (called?.name) this.#tools.set(index ?? this.#tools.size, called.name);
    }
    if (choice?.finish_reason) {
      this.#finishReason = choice.finish_reason;
      this.#hasEnded = true;
    }
    this.#write(typeof content === 'string' ? content : (content ?? []).map(textOfPart).join(''));
  }

  #readResponse(json: unknown): void {
    const { data: event } = responseEvent.safeParse(json);
    if (!event) return;
    if (RESPONSE_ENDS.includes(event.type)) this.#end(event.response);
    else if (event.type === 'error') this.#end({ error: { message: event.message, code: event.code } });
    else if (event.type === 'response.output_text.delta' && typeof event.delta === 'string')
      this.#write(event.delta);
  }

  #write(text: string): void {
    if (text === '') return;
    this.#text += text;
    this.#onText(() => withoutReasoning(this.#text).text.trim());
  }

  #end(whole: unknown): void {
    this.#whole ??= whole;
    this.#hasEnded = true;
  }
}

function textOfPart({ type, text }: { type: string; text?: unknown }): string {
  return type === 'text' && typeof text === 'string' ? text : '';
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
