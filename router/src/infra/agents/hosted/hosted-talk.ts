import type { AgentClient, AttemptOptions } from '../../../core/agent-client.ts';
import { contractSessionId, contractUser } from '../../../core/chat-id.ts';
import { withLimit } from '../../../core/clock.ts';
import { AgentProtocolError, AgentUncertainError } from '../../../core/errors.ts';
import { type HostedAgent, tokenHeaders } from '../../../core/hosting/agent-life.ts';
import { AgentUnusableError } from '../../../core/hosting/hosting-errors.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import type { AgentResponse, IncomingMessage } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import type {
  AgentMessage,
  AgentTalk,
  Conversation,
  RunningAgent,
} from '../../../core/ports/agent-registry.ts';
import type { AgentDeps } from '../agent-kind.ts';
import { readAnswerText } from '../answer-text.ts';
import { exchangeError, redactor } from '../transport/agent-transport.ts';
import type { Fetched } from '../transport/bounded-fetch.ts';
import { bodyJson, bodyText, parsedJson } from '../transport/error-text.ts';

/** Largest answer, in bytes. */
const MAX_BYTES = 2 * 1024 * 1024;

/**
 * `chat` and `agentcore` over HTTP; `adk`, `abi` and `a2a` as the agent kind of that name, with the agent's token. The egress
 * policy allows the address of the agent, and nothing more than to agents of routes: not what its card or its files name.
 */
export class HostedTalk implements AgentTalk {
  readonly #deps: Omit<AgentDeps, 'hosting'>;

  constructor(deps: Omit<AgentDeps, 'hosting'>) {
    this.#deps = deps;
  }

  async ask(
    agent: HostedAgent,
    running: RunningAgent,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const { profile } = agent.spec;
    if (profile === 'chat' || profile === 'agentcore')
      return await this.#chat({ agent, running, profile }, message, options);
    const inner = await this.clientFor(agent, running, options.signal);
    return await inner.sendMessage(running.url, message, options);
  }

  async history(
    agent: HostedAgent,
    running: RunningAgent,
    { from, channelId }: Conversation,
    { count, signal }: { count: number; signal: AbortSignal },
  ): Promise<AgentMessage[]> {
    const sessionId = contractSessionId(from, channelId);
    const { profile } = agent.spec;
    let path = `/history?${new URLSearchParams({ count: String(count), session_id: sessionId })}`;
    if (profile === 'adk') {
      const app = agent.options?.appName ?? (await this.#onlyApp(running, signal));
      path = `/apps/${encodeURIComponent(String(app))}/users/${contractUser(from)}/sessions/${sessionId}`;
    } else if (profile !== 'chat') {
      throw new AgentUnusableError('AGENT_NO_HISTORY', say('hosted.profile-without-history', { profile }));
    }
    return await withLimit(this.#deps.clock, this.#timeoutOf(agent), signal, async (limited) => {
      const fetched = await this.#get(running, path, limited);
      // No such session: nothing was said.
      if (profile === 'adk' && fetched.kind === 'answer' && fetched.status === 404) return [];
      if (fetched.kind === 'fault' || fetched.status !== 200)
        throw this.#errorOf(fetched, agent, running, { from, channelId, text: '' });
      return historyOf(bodyText(fetched), count);
    });
  }

  /** The client of the profile's kind, with the agent's token. */
  async clientFor(
    { spec, options = {}, timeoutMs, routeId, agentId, accountId = '' }: HostedAgent,
    running: RunningAgent,
    signal?: AbortSignal,
  ): Promise<AgentClient> {
    const { profile } = spec;
    const headers = {
      ...(options as { headers?: Record<string, string> }).headers,
      ...tokenHeaders(running.token),
    };
    const settings: Record<string, unknown> = {
      ...options,
      ...(timeoutMs !== undefined && { timeoutMs }),
      headers,
    };
    if (profile === 'adk' && settings.appName === undefined)
      settings.appName = await this.#onlyApp(running, signal);
    // The part after the hash keeps what is cached of another agent apart, which had the port before.
    if (profile === 'abi' && settings.functions === undefined)
      settings.functions = `${running.url}/agent.json#${agentId}`;
    const make = this.#deps.clientOf?.(profile);
    if (!make) throw new AgentProtocolError(say('hosted.no-profile', { profile }));
    return make(settings, { id: routeId ?? agentId, accountId }, this.#deps.transport.alsoTo(running.url));
  }

  /** One request whose repeat may run the turn twice: every request of a message has the same `Idempotency-Key`. */
  async #chat(
    { agent, running, profile }: { agent: HostedAgent; running: RunningAgent; profile: 'chat' | 'agentcore' },
    message: IncomingMessage,
    options: AttemptOptions,
  ): Promise<AgentResponse> {
    // `dead-letter` is given only when an earlier attempt may have run.
    if (options.uncertain === 'dead-letter') throw new AgentUncertainError();
    const { clock, transport } = this.#deps;
    const { path, headers, body } = chatRequest(profile, message);
    const toAgent = transport.alsoTo(running.url);
    await options.beforeRequest?.();
    return await withLimit(clock, this.#timeoutOf(agent), options.signal, async (signal) => {
      const fetched = await toAgent.fetch(`${running.url}${path}`, {
        method: 'POST',
        headers: new Headers({
          ...headers,
          ...tokenHeaders(running.token),
          'content-type': 'application/json',
        }),
        body: JSON.stringify(body),
        signal,
        maxBytes: MAX_BYTES,
      });
      options.signal?.throwIfAborted();
      if (fetched.kind === 'fault' || fetched.status < 200 || fetched.status > 299)
        throw this.#errorOf(fetched, agent, running, message);
      const text = chatAnswer(fetched);
      return { success: true, ...(text !== undefined && { response: text }) };
    });
  }

  #errorOf(
    fetched: Fetched,
    agent: HostedAgent,
    { token }: RunningAgent,
    { from, channelId, text }: Conversation & Pick<IncomingMessage, 'text'>,
  ): Error {
    const named = say('agent-name.hosted');
    return exchangeError(fetched, {
      agent: named,
      aborted: say('agent.silent', { agent: named, ms: this.#timeoutOf(agent) }),
      nowMs: this.#deps.clock.now(),
      redact: redactor({
        text,
        userId: contractUser(from),
        sessionId: contractSessionId(from, channelId),
        secrets: [token],
      }),
    });
  }

  /** The name of the only app of an ADK server. */
  async #onlyApp(running: RunningAgent, signal = new AbortController().signal): Promise<string> {
    const fetched = await this.#get(running, '/list-apps', signal);
    const apps = fetched.kind === 'answer' ? bodyJson(fetched) : [];
    const [first, ...others] = Array.isArray(apps) ? apps : [];
    if (typeof first === 'string' && others.length === 0) return first;
    throw new AgentProtocolError(say('hosted.several-apps'));
  }

  #get({ url, token }: RunningAgent, path: string, signal: AbortSignal): Promise<Fetched> {
    const headers = new Headers(tokenHeaders(token));
    return this.#deps.transport.alsoTo(url).fetch(`${url}${path}`, {
      method: 'GET',
      headers,
      signal,
      maxBytes: MAX_BYTES,
    });
  }

  #timeoutOf({ timeoutMs = this.#deps.defaultTimeoutMs() }: HostedAgent): number {
    return timeoutMs;
  }
}

/** Fields that may contain the answer, in the order in which they are looked for. */
const FIELDS = ['response', 'reply', 'message', 'output', 'text', 'result', 'content'] as const;

/** A request to an agent of the profile `chat` or `agentcore`. */
interface ChatRequest {
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
  return readAnswerText(answer, { agent: say('agent-name.hosted'), fields: FIELDS }).text;
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
  if (!Array.isArray(entries)) throw new AgentProtocolError(say('hosted.no-history'));
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
