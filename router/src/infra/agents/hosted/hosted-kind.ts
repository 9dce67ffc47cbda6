import { createHash } from 'node:crypto';
import type { AgentClient, AttemptOptions, FollowedTask, TaskReport } from '../../../core/agent-client.ts';
import { AgentProtocolError, Wa2aiError } from '../../../core/errors.ts';
import type { HostedAgent } from '../../../core/hosting/agent-life.ts';
import type { AgentResponse, IncomingMessage, Route } from '../../../core/models.ts';
import { type AgentDeps, agentKind } from '../agent-kind.ts';
import { attemptLog } from '../attempt-log.ts';
import { type HostedSettings, hostedAgentOf, hostedProblems, hostedSettings } from './hosted-settings.ts';
import { chatRequest, HostedTalk } from './hosted-talk.ts';

/** What the chat gets, once, while an image is pulled for long. */
const SLOW_START =
  'I am being set up for the first time, which takes a while. I will answer as soon as I am ready.';

interface HostedAgentClientConfig extends AgentDeps {
  settings: HostedSettings;
  route: Pick<Route, 'id' | 'accountId'>;
}

/** Wakes the agent of the message's person, chat or route, and talks to it as its profile says. */
class HostedAgentClient implements AgentClient {
  readonly #config: HostedAgentClientConfig;
  readonly #talk: HostedTalk;

  constructor(config: HostedAgentClientConfig) {
    this.#config = config;
    this.#talk = new HostedTalk(config);
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
        const response = await this.#talk.ask(agent, running, message, options);
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

  agentIdFor(message: IncomingMessage): string {
    return this.#agentOf(message).agentId;
  }

  async takesFile(message: IncomingMessage): Promise<boolean> {
    const { profile = 'chat' } = this.#config.settings;
    const agent = this.#agentOf(message);
    if (profile === 'adk') return agent.options?.media === true;
    if (profile !== 'a2a') return false;
    try {
      // Only the agent's card says so; the message follows immediately.
      return await this.#hosting().use(agent, async (running) => {
        const inner = await this.#talk.clientFor(agent, running);
        return (await inner.takesFile?.(message, running.url)) ?? false;
      });
    } catch (error) {
      // The attempt throws the same error, and the route's failure settings apply to it.
      if (error instanceof Wa2aiError) return true;
      throw error;
    }
  }

  async followTask(
    _endpoint: string,
    task: FollowedTask,
    options: Parameters<NonNullable<AgentClient['followTask']>>[2],
  ): Promise<TaskReport> {
    const agent = this.#agentOf(task.message);
    return await this.#hosting().use(
      agent,
      async (running) => {
        const inner = await this.#talk.clientFor(agent, running, options.signal);
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

  #agentOf({ from, channelId }: Pick<IncomingMessage, 'from' | 'channelId'>): HostedAgent {
    const { settings, route } = this.#config;
    const { per = 'person' } = settings;
    const owner = { person: from, chat: channelId, route: '' }[per];
    const key = JSON.stringify([route.id, per, owner]);
    const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
    return hostedAgentOf(`r-${route.id.slice(0, 8)}-${hash}`.toLowerCase(), settings, route);
  }

  #hosting(): NonNullable<AgentDeps['hosting']> {
    const { hosting } = this.#config;
    if (!hosting) throw new AgentProtocolError('This program does not run hosted agents; the service does.');
    return hosting;
  }
}

/** Agents that wa2ai itself runs, in containers or as processes, and wakes when a message comes. */
export const hostedKind = agentKind<HostedSettings>({
  name: 'hosted',
  description: 'An agent that wa2ai runs in a container, and wakes when a message comes.',
  settings: hostedSettings,
  hasNoEndpoint: () => true,
  scopeOf: ({ runtime }) => (runtime === 'process' ? 'admin' : 'agents:manage'),
  check: async (settings) => hostedProblems(settings),
  // compared by settings of routes only: requests go to the address of the agent of each message
  endpointOf: (_, { image, command = [] }) => `hosted:${[image, ...command].join(' ').trim()}`,
  client: (deps) => (settings, route) => new HostedAgentClient({ ...deps, settings, route }),
});
