import { contractSessionId, contractUser } from '../../../core/chat-id.ts';
import { AgentProtocolError } from '../../../core/errors.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import type { IncomingMessage } from '../../../core/models.ts';
import type { AgentMessage } from '../../../core/ports/agent-talk.ts';
import { readAnswerText } from '../answer-text.ts';
import { parsedJson } from '../transport/error-text.ts';

/** Fields that may contain the answer, in the order in which they are looked for. */
const FIELDS = ['response', 'reply', 'message', 'output', 'text', 'result', 'content'] as const;

/** A request to an agent of the profile `chat` or `agentcore`. */
export interface ChatRequest {
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

export function chatRequest(profile: 'chat' | 'agentcore', message: IncomingMessage): ChatRequest {
  const sessionId = contractSessionId(message.from, message.channelId);
  const common = {
    session_id: sessionId,
    message_id: message.id,
    user_id: contractUser(message.from),
    ...(message.pushName !== undefined && { name: message.pushName }),
    facts: factsOf(message),
    ...(message.context && { context: message.context.map(({ by, name, text }) => ({ by, name, text })) }),
  };
  const headers = { 'idempotency-key': message.id.replace(/[^\x21-\x7e]/g, '_') };
  if (profile === 'chat') return { path: '/chat', headers, body: { message: message.text, ...common } };
  return {
    path: '/invocations',
    headers: { ...headers, 'x-amzn-bedrock-agentcore-runtime-session-id': sessionId.padEnd(33, '-') },
    body: { prompt: message.text, ...common },
  };
}

/**
 * The text of an answer: plain text, a JSON string, one of the usual fields, or blocks of content as Strands stores them;
 * of a stream of events, the texts of all. Undefined: the agent says nothing.
 * @throws {AgentProtocolError} it has none of these forms
 */
export function chatAnswer(answer: { headers: Headers; body: Uint8Array }): string | undefined {
  return readAnswerText(answer, { agent: 'hosted agent', fields: FIELDS }).text;
}

/** How agents name themselves in a history. */
const ASSISTANTS = new Set(['assistant', 'model', 'agent', 'ai', 'bot']);

/**
 * The newest `count` messages of a history, oldest first: a list, or an object with `messages`, `history` or `events`, whose
 * entries have a role and a text. Calls of tools and their results are left out.
 * @throws {AgentProtocolError} it has none of these forms
 */
export function historyOf(body: string, count: number): AgentMessage[] {
  const value = parsedJson(body);
  const { messages, history, events } = (value ?? {}) as Record<string, unknown>;
  const entries = Array.isArray(value) ? value : (messages ?? history ?? events);
  if (!Array.isArray(entries))
    throw new AgentProtocolError('The hosted agent answered without a list of its messages.');
  return entries.flatMap((entry) => messageIn(entry)).slice(-count);
}

/** Of an entry such as `{"role": "user", "content": "hello"}`, Strands' blocks, or an event of ADK. */
function messageIn(entry: unknown): AgentMessage[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const fields = entry as Record<string, unknown>;
  const inner = (fields.message ?? fields.content) as Record<string, unknown> | undefined;
  if (typeof inner === 'object' && inner !== null && 'role' in inner) return messageIn(inner);
  const { role, content, parts, text } = fields;
  const said = textsIn(content ?? parts ?? text);
  if (typeof role !== 'string' || said === '') return [];
  if (role === 'user') return [{ role, content: said }];
  return ASSISTANTS.has(role) ? [{ role: 'assistant', content: said }] : [];
}

/** The texts of a message; blocks without text are calls of tools and their results. */
function textsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((block) => (block as { text?: unknown } | null)?.text);
  return texts.filter((text) => typeof text === 'string').join('');
}
