import { contractUser } from '../../../core/chat-id.ts';
import type { IncomingMessage } from '../../../core/models.ts';
import type { PastTurn } from '../../../core/ports/chat-history.ts';
import type { OpenAiApi, OpenAiSettings } from './openai-settings.ts';

/** How the limit of tokens is spelled in the API `chat`: newer models take only the second one. */
export type TokenLimit = 'max_tokens' | 'max_completion_tokens';

/** What the model gets. */
export interface Prompt {
  message: IncomingMessage;
  /** Oldest first. */
  history: readonly PastTurn[];
  /** The picture of the message, as a data URL. */
  image?: string;
}

interface Said {
  role: 'user' | 'assistant';
  text: string;
  image?: string;
}

/** The body of the request for an answer, without streaming. */
export function requestBody(
  api: OpenAiApi,
  settings: OpenAiSettings,
  prompt: Prompt,
  tokenLimit: TokenLimit,
): Record<string, unknown> {
  const { model, system, maxTokens, temperature } = settings;
  const said = conversationOf(prompt);
  const randomness = temperature === undefined ? {} : { temperature };
  if (api === 'responses') {
    return {
      model,
      ...(system !== undefined && { instructions: system }),
      input: said.map(({ role, text, image }) => ({
        role,
        content: image
          ? [...(text ? [{ type: 'input_text', text }] : []), { type: 'input_image', image_url: image }]
          : text,
      })),
      ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
      ...randomness,
      // wa2ai has the conversation, so the server needs no copy of it.
      store: false,
      stream: false,
    };
  }
  const messages = said.map(({ role, text, image }) => ({
    role,
    content: image
      ? [...(text ? [{ type: 'text', text }] : []), { type: 'image_url', image_url: { url: image } }]
      : text,
  }));
  return {
    model,
    messages: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    ...(maxTokens !== undefined && { [tokenLimit]: maxTokens }),
    ...randomness,
    stream: false,
  };
}

/** The same body for people: with pictures shortened. */
export function shownBody(body: Record<string, unknown>): Record<string, unknown> {
  const shown = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith('data:') ? `${value.slice(0, 40)}…` : value,
  );
  return JSON.parse(shown) as Record<string, unknown>;
}

function conversationOf({ message, history, image }: Prompt): Said[] {
  const { isGroup = false, from, fromLid, pushName, text, quotedText } = message;
  const past = history.flatMap((turn): Said[] => {
    const asked = turn.text || `[${turn.kind}]`;
    const replies = turn.replies.map(({ text, media }) => text || `[${media ?? 'empty'}]`);
    return [
      { role: 'user', text: isGroup ? `${nameOf(turn.pushName, turn.sender)}: ${asked}` : asked },
      { role: 'assistant', text: replies.join('\n\n') },
    ];
  });
  const quoted = quotedText ? `${quotedText.replace(/^/gm, '> ')}\n\n` : '';
  const asked = `${quoted}${text}`;
  const now = isGroup ? `${nameOf(pushName, contractUser(fromLid ?? from))}: ${asked}` : asked;
  return [...past, { role: 'user', text: now.trim(), ...(image !== undefined && { image }) }];
}

/**
 * Members of a group who have no name are distinguished by the last digits of their LID, else of their number; the whole
 * number is not sent.
 */
function nameOf(pushName: string | undefined, digits: string): string {
  return pushName?.replace(/\s+/g, ' ').trim() || `Member ${digits.slice(-4)}`.trim();
}
