import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { AgentClient, AttemptOptions, FollowedTask, TaskReport } from '../../../core/agent-client.ts';
import { AgentProtocolError, Wa2aiError } from '../../../core/errors.ts';
import {
  AGENT_PROFILES,
  type AgentSpec,
  type AgentUser,
  type HostedAgent,
  isImageName,
  nameOfUser,
  PROFILE_PORTS,
} from '../../../core/hosting/agent-life.ts';
import type { AgentResponse, IncomingMessage, Route } from '../../../core/models.ts';
import { PHRASES, say } from '../../../core/phrases.ts';
import { type AgentDeps, agentKind, type SettingsProblem } from '../agent-kind.ts';
import { attemptLog } from '../attempt-log.ts';
import { notBlank, secretField, timeoutField } from '../setting-fields.ts';
import { chatRequest, HostedTalk } from './hosted-talk.ts';

const DEFAULTS = { memoryMb: 1_024, cpus: 1, pids: 256, idleMinutes: 30 } as const;

/** Variables that the host sets itself. */
const RESERVED_ENV = new Set('PORT HOST DATA_DIR AGENT_TOKEN_FILE AGENT_ID'.split(' '));

/** Settings of a route to an agent that wa2ai runs; `hostedProblems` makes the checks that a schema cannot express. */
const hostedSettings = z.strictObject({
  image: z
    .string()
    .max(500)
    .refine(isImageName, PHRASES['field.image'])
    .optional()
    .describe('Image of the container. Required for the runtime `docker`.'),
  command: z
    .array(z.string().max(4_096))
    .min(1, PHRASES['field.program'])
    .max(100)
    .optional()
    .describe(
      "Program and arguments, each one text. Runs in the agent's `workspace/`. Required for the runtime `process`; in a container it replaces the image's own.",
    ),
  runtime: z
    .enum(['docker', 'process'])
    .optional()
    .describe(
      '`docker`: a container of Docker or podman. `process`: a child process of wa2ai, **without isolation**; needs `WA2AI_PROCESS_AGENTS=on`, and the scope `admin` to write the route. Default: `docker`.',
    ),
  profile: z
    .enum(AGENT_PROFILES)
    .optional()
    .describe('What the program speaks. Default: `chat` (`POST /chat`).'),
  per: z
    .enum(['person', 'chat', 'route'])
    .optional()
    .describe(
      'Who gets an agent of their own: each person, each chat, or all together one. Default: `person`.',
    ),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/), secretField)
    .refine((env) => Object.keys(env).every((name) => !RESERVED_ENV.has(name)), {
      error: PHRASES['field.hosted-env'],
    })
    .optional()
    .describe(
      'Variables of the program, such as the key of a model. Stored; the API shows `***` for each value.',
    ),
  memoryMb: z
    .int()
    .min(16)
    .max(1_048_576)
    .optional()
    .describe(`Memory of the container, in MB. Default: ${DEFAULTS.memoryMb}.`),
  cpus: z
    .number()
    .min(0.01)
    .max(1_024)
    .optional()
    .describe(`Processors of the container. Default: ${DEFAULTS.cpus}.`),
  pids: z
    .int()
    .min(8)
    .max(100_000)
    .optional()
    .describe(`Processes and threads of the container. Default: ${DEFAULTS.pids}.`),
  idleMinutes: z
    .number()
    .min(0.01)
    .max(43_200)
    .optional()
    .describe(`The agent stops after so many minutes without work. Default: ${DEFAULTS.idleMinutes}.`),
  network: z
    .enum(['none', 'internet'])
    .optional()
    .describe('`internet`: the container reaches public addresses; `none`: nothing. Default: `internet`.'),
  pull: z
    .enum(['never', 'missing', 'always'])
    .optional()
    .describe('When the image is pulled: `always` before each creation of a container. Default: `missing`.'),
  port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe(
      'Port that the program listens on. Default: 8000 for `adk`, 80 for `abi`, 8080 for the others; a process gets a free one in `PORT`.',
    ),
  timeoutMs: timeoutField.optional(),
  options: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Settings of the profile\'s own agent kind: `{"appName": "helper"}` for `adk`, `{"functions": [...]}` for `abi`, fields of `config.a2a` for `a2a`. Default for `adk`: the only app of the server; for `abi`: the manifest at `/agent.json`.',
    ),
});

export type HostedSettings = z.output<typeof hostedSettings>;

/** The settings with their defaults, as the agent host uses them. */
function specOf(settings: HostedSettings): { spec: AgentSpec; idleMs: number } {
  const { runtime = 'docker', profile = 'chat', image, command, port } = settings;
  const defaultPort = runtime === 'process' ? 0 : PROFILE_PORTS[profile];
  return {
    idleMs: (settings.idleMinutes ?? DEFAULTS.idleMinutes) * 60_000,
    spec: {
      runtime,
      ...(image !== undefined && { image }),
      ...(command && { command }),
      profile,
      port: port ?? defaultPort,
      env: settings.env ?? {},
      memoryMb: settings.memoryMb ?? DEFAULTS.memoryMb,
      cpus: settings.cpus ?? DEFAULTS.cpus,
      pids: settings.pids ?? DEFAULTS.pids,
      network: settings.network ?? 'internet',
      pull: settings.pull ?? 'missing',
    },
  };
}

/** The agent that a route or the API describes. */
export function hostedAgentOf(
  agentId: string,
  settings: HostedSettings,
  route?: Pick<Route, 'id' | 'accountId'>,
): HostedAgent {
  const { options, timeoutMs } = settings;
  return {
    agentId,
    ...specOf(settings),
    ...(options && { options }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(route && { accountId: route.accountId, routeId: route.id }),
  };
}

/** Mistakes that the schema does not find. */
function hostedProblems(settings: HostedSettings): SettingsProblem[] {
  const { runtime = 'docker', image, command, network } = settings;
  const problems: SettingsProblem[] = [];
  if (runtime === 'docker' && (image === undefined || !notBlank(image))) {
    problems.push({ field: 'image', said: say('field.required-of-docker') });
  }
  if (runtime === 'process' && command === undefined) {
    problems.push({ field: 'command', said: say('field.required-of-process') });
  }
  if (runtime === 'process' && network === 'none') {
    problems.push({ field: 'network', said: say('field.network-none-of-process') });
  }
  return problems;
}

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
        if (!inner.followTask) throw new AgentProtocolError(say('hosted.tasks-not-followed'));
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

  #agentOf(message: AgentUser): HostedAgent {
    const { settings, route } = this.#config;
    const { per = 'person' } = settings;
    const owner = { person: message.from, chat: message.channelId, route: '' }[per];
    const key = JSON.stringify([route.id, per, owner]);
    const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
    const agent = hostedAgentOf(`r-${route.id.slice(0, 8)}-${hash}`.toLowerCase(), settings, route);
    return per === 'route' ? agent : { ...agent, usedBy: nameOfUser(message, per) };
  }

  #hosting(): NonNullable<AgentDeps['hosting']> {
    const { hosting } = this.#config;
    if (!hosting) throw new AgentProtocolError(say('hosted.not-in-program'));
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
