import { z } from 'zod';
import {
  AGENT_PROFILES,
  type AgentSpec,
  type HostedAgent,
  isImageName,
  PROFILE_PORTS,
} from '../../../core/hosting/agent-life.ts';
import type { Route } from '../../../core/models.ts';
import { PHRASES } from '../../../core/phrases.ts';
import { notBlank, secretField, timeoutField } from '../setting-fields.ts';

const DEFAULTS = { memoryMb: 1_024, cpus: 1, pids: 256, idleMinutes: 30 } as const;

/** Variables that the host sets itself. */
const RESERVED_ENV = new Set('PORT HOST DATA_DIR AGENT_TOKEN_FILE AGENT_ID'.split(' '));

/** Settings of a route to an agent that wa2ai runs; `hostedProblems` makes the checks that a schema cannot express. */
export const hostedSettings = z.strictObject({
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
    .describe(
      '`internet`: the container reaches public addresses; `none`: nothing. Default: `internet`. Exactly: see below.',
    ),
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
export function hostedProblems(settings: HostedSettings): Array<{ field: string; message: string }> {
  const { runtime = 'docker', image, command, network } = settings;
  const problems: Array<{ field: string; message: string }> = [];
  if (runtime === 'docker' && (image === undefined || !notBlank(image))) {
    problems.push({ field: 'image', message: PHRASES['field.required-of-docker'] });
  }
  if (runtime === 'process' && command === undefined) {
    problems.push({ field: 'command', message: PHRASES['field.required-of-process'] });
  }
  if (runtime === 'process' && network === 'none') {
    problems.push({
      field: 'network',
      message: PHRASES['field.network-none-of-process'],
    });
  }
  return problems;
}
