import { createHash } from 'node:crypto';
import type { AgentClient, AttemptOptions, FollowedTask, TaskReport } from '../../../core/agent-client.ts';
import { AgentProtocolError, AgentUncertainError } from '../../../core/errors.ts';
import { type HostedAgent, tokenHeaders } from '../../../core/hosting/agent-spec.ts';
import type { AgentResponse, IncomingMessage, Route } from '../../../core/models.ts';
import type { RunningAgent } from '../../../core/ports/agent-probe.ts';
import { withLimit } from '../../../core/time-limit.ts';
import type { AgentDeps } from '../agent-kind.ts';
import { attemptLog } from '../attempt-log.ts';
import { exchangeError } from '../transport/exchange-error.ts';
import { redactor } from '../transport/redaction.ts';
import { chatAnswer, chatRequest } from './chat-wire.ts';
import { type HostedSettings, specOf } from './hosted-settings.ts';

/** Largest answer, in bytes. */
const MAX_BYTES = 2 * 1024 * 1024;
/** What the chat gets, once, while an image is pulled for long. */
const SLOW_START =
  'I am being set up for the first time, which takes a while. I will answer as soon as I am ready.';

export interface HostedAgentClientConfig extends AgentDeps {
  settings: HostedSettings;
  route: Pick<Route, 'id' | 'accountId'>;
}

/**
 * Wakes the agent of the message's person, chat or route, and talks to it as its profile says: `adk`, `abi` and `a2a` as
 * the agent kind of that name, at the agent's address and with its token.
 */
export class HostedAgentClient implements AgentClient {
  readonly #config: HostedAgentClientConfig;

  constructor(config: HostedAgentClientConfig) {
    this.#config = config;
  }

  /**
   * Makes one attempt; the time limit begins when the agent is ready.
   * @throws {AgentElsewhereError} the agent belongs to another node
   * @throws {AgentUnusableError} the agent cannot run until somebody acts
   * @throws what the client of the profile's kind throws
   */
  async sendMessage(
    _endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const agent = this.#agentOf(message);
    const log = attemptLog(this.#config.log, message, options);
    const startedMs = this.#config.clock.monotonicMs();
    return await this.#hosting().use(
      agent,
      async (running) => {
        const wakeMs = Math.round(this.#config.clock.monotonicMs() - startedMs);
        log?.info({ agentId: agent.agentId, wakeMs }, 'hosted agent ready');
        const response = await this.#ask(running, message, options);
        const hosted = { agentId: agent.agentId, wakeMs };
        return {
          ...response,
          metadata: { ...response.metadata, hosted },
          detail: { ...response.detail, hosted },
        };
      },
      {
        ...(options.signal && { signal: options.signal }),
        onSlowStart: async () => options.notify?.(SLOW_START),
      },
    );
  }

  async takesFile(message: IncomingMessage, endpoint: string): Promise<boolean> {
    const { profile = 'chat', options = {} } = this.#config.settings;
    if (profile !== 'adk' && profile !== 'a2a') return false;
    return (await this.#inner(profile, options).takesFile?.(message, endpoint)) ?? false;
  }

  async followTask(
    _endpoint: string,
    task: FollowedTask,
    options: Parameters<NonNullable<AgentClient['followTask']>>[2],
  ): Promise<TaskReport> {
    return await this.#hosting().use(
      this.#agentOf(task.message),
      async (running) => {
        const inner = await this.#innerFor(running, options.signal);
        if (!inner.followTask) throw new AgentProtocolError('Tasks of this hosted agent cannot be followed.');
        return await inner.followTask(running.url, task, options);
      },
      { signal: options.signal },
    );
  }

  async preview(message: IncomingMessage): Promise<Record<string, unknown>> {
    const { runtime = 'docker', profile = 'chat', image, command } = this.#config.settings;
    const { agentId } = this.#agentOf(message);
    const request = profile === 'chat' || profile === 'agentcore' ? chatRequest(profile, message) : undefined;
    return {
      ...{ kind: 'hosted', agentId, runtime, profile },
      ...(runtime === 'process' && { isolation: 'no isolation' }),
      ...(image !== undefined && { image }),
      ...(command && { command }),
      ...(request && { request: { method: 'POST', path: request.path, body: request.body } }),
    };
  }

  async #ask(
    running: RunningAgent,
    message: IncomingMessage,
    options: AttemptOptions,
  ): Promise<AgentResponse> {
    const { profile = 'chat' } = this.#config.settings;
    if (profile === 'chat' || profile === 'agentcore')
      return await this.#chat(profile, running, message, options);
    const inner = await this.#innerFor(running, options.signal);
    return await inner.sendMessage(running.url, message, options);
  }

  /** One request whose repeat may run the turn twice: every request of a message has the same `Idempotency-Key`. */
  async #chat(
    profile: 'chat' | 'agentcore',
    running: RunningAgent,
    message: IncomingMessage,
    options: AttemptOptions,
  ): Promise<AgentResponse> {
    // `dead-letter` is given only when an earlier attempt may have run.
    if (options.uncertain === 'dead-letter') throw new AgentUncertainError();
    const { clock, transport } = this.#config;
    const timeoutMs = this.#config.settings.timeoutMs ?? this.#config.defaultTimeoutMs;
    const { path, headers, body } = chatRequest(profile, message);
    await options.beforeRequest?.();
    return await withLimit(clock, timeoutMs, options.signal, async (signal) => {
      const fetched = await transport.fetch(`${running.url}${path}`, {
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
      if (fetched.kind === 'fault' || fetched.status < 200 || fetched.status > 299) {
        throw exchangeError(fetched, {
          agent: 'hosted agent',
          aborted: `The hosted agent did not answer within ${timeoutMs} ms.`,
          nowMs: clock.now(),
          redact: redactor({
            text: message.text,
            userId: String(body.user_id),
            sessionId: String(body.session_id),
            secrets: [running.token],
          }),
        });
      }
      const text = chatAnswer(fetched.headers.get('content-type') ?? '', fetched.body.toString('utf8'));
      return { success: true, ...(text !== undefined && { response: text }) };
    });
  }

  /** The client of the profile's kind, with the agent's token. */
  async #innerFor(running: RunningAgent, signal: AbortSignal | undefined): Promise<AgentClient> {
    const { profile = 'chat', options = {}, timeoutMs } = this.#config.settings;
    const own = { ...options, ...(timeoutMs !== undefined && { timeoutMs }) };
    const headers = {
      ...(own as { headers?: Record<string, string> }).headers,
      ...tokenHeaders(running.token),
    };
    const settings: Record<string, unknown> = { ...own, headers };
    if (profile === 'adk' && settings.appName === undefined)
      settings.appName = await this.#onlyApp(running, signal);
    if (profile === 'abi' && settings.functions === undefined)
      settings.functions = `${running.url}/agent.json`;
    return this.#inner(profile, settings);
  }

  #inner(profile: string, settings: Record<string, unknown>): AgentClient {
    const make = this.#config.clientOf?.(profile);
    if (!make) throw new AgentProtocolError(`There is no agent kind for the profile "${profile}".`);
    return make(settings, this.#config.route);
  }

  /** The name of the only app of an ADK server. */
  async #onlyApp(running: RunningAgent, signal = new AbortController().signal): Promise<string> {
    const fetched = await this.#config.transport.fetch(`${running.url}/list-apps`, {
      ...{ method: 'GET', headers: new Headers(tokenHeaders(running.token)), signal, maxBytes: MAX_BYTES },
    });
    const body = fetched.kind === 'answer' ? fetched.body.toString('utf8') : '[]';
    let apps: unknown;
    try {
      apps = JSON.parse(body);
    } catch {
      apps = [];
    }
    const [first, ...others] = Array.isArray(apps) ? apps : [];
    if (typeof first === 'string' && others.length === 0) return first;
    throw new AgentProtocolError('Set hosted.options.appName: the ADK server has not exactly one app.');
  }

  #agentOf({ from, channelId }: Pick<IncomingMessage, 'from' | 'channelId'>): HostedAgent {
    const { settings, route } = this.#config;
    const { per = 'person' } = settings;
    const owner = { person: from, chat: channelId, route: '' }[per];
    const key = JSON.stringify([route.id, per, owner]);
    const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
    return {
      agentId: `r-${route.id.slice(0, 8)}-${hash}`.toLowerCase(),
      ...specOf(settings),
      accountId: route.accountId,
      routeId: route.id,
    };
  }

  #hosting(): NonNullable<AgentDeps['hosting']> {
    const { hosting } = this.#config;
    if (!hosting) throw new AgentProtocolError('This program does not run hosted agents; the service does.');
    return hosting;
  }
}
