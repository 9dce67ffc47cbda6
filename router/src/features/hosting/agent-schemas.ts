import { z } from 'zod';
import { AGENT_ID, AGENT_PHASES, AGENT_PROFILES } from '../../core/hosting/agent-life.ts';
import type { HostedAgentView } from '../../core/hosting/hosted-agents.ts';
import { PHRASES } from '../../core/phrases.ts';
import { pageQuery, shown, timeView, wholeNumberQuery } from '../../infra/operations/fields.ts';
import { UploadedFile } from '../../infra/operations/form.ts';

const DEFAULT_PAGE = 50;
const DEFAULT_LINES = '200';
/** An agent may work for minutes; proxies end longer requests. */
const MAX_WAIT_SECONDS = 300;

const idField = z
  .string()
  .regex(AGENT_ID, PHRASES['field.id-63'])
  .refine((id) => !id.startsWith('r-'), PHRASES['field.route-prefix']);

/** @param settings of the agent kind `hosted` */
export function agentBodyOf(settings: z.ZodType) {
  return z
    .strictObject({
      id: idField.describe('Name of the agent, and of its data folder.'),
      routeId: z.string().min(1).max(200).optional().describe('Run it as this route (`config.hosted`) says.'),
      hosted: settings
        .optional()
        .describe('Run it with these settings, the fields of `config.hosted`; `per` has no meaning here.'),
    })
    .refine(({ routeId, hosted }) => (routeId === undefined) !== (hosted === undefined), {
      path: ['hosted'],
      error: PHRASES['field.or-route-id'],
    })
    .meta({
      id: 'NewHostedAgent',
      examples: [{ id: 'helper', hosted: { image: 'chat-node:1', idleMinutes: 10 } }],
    });
}

export const agentsQuery = z.strictObject({
  routeId: z.string().min(1).max(200).optional().describe('Only agents of this route.'),
  node: z.string().min(1).max(200).optional().describe('Only agents of this node.'),
  ...pageQuery(z.string().min(1).max(100), DEFAULT_PAGE),
});

export const logsQuery = z.strictObject({
  tail: wholeNumberQuery(1, 10_000).prefault(DEFAULT_LINES).describe('How many of the last lines.'),
  follow: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .prefault('false')
    .describe('`true`: a stream of server-sent events, which goes on with new lines until the program ends.'),
});

export const pathQuery = z.strictObject({
  path: z.string().min(1).max(4_096).describe("Within the agent's folder: `workspace/notes.txt`."),
});

/** Of a form with a file of at most 10 MB. */
export const MAX_UPLOAD_BYTES = 11_000_000;
const MAX_FILE_BYTES = 10_000_000;

export const uploadBody = z
  .strictObject({
    file: z
      .custom<UploadedFile>((value) => value instanceof UploadedFile, PHRASES['field.form-file'])
      .refine(({ bytes }) => bytes.length <= MAX_FILE_BYTES, PHRASES['field.some-megabytes'])
      .meta({ override: { type: 'string', format: 'binary', description: 'The file.' } }),
  })
  .meta({ id: 'HostedAgentUpload' });

export const messageBody = z
  .strictObject({
    message: z.string().min(1).max(65_536),
    messageId: z
      .string()
      .regex(/^[\w.:-]{1,200}$/, PHRASES['field.id-200'])
      .optional()
      .describe('A repeated call with the same id is the same message. Default: a new one.'),
    waitSeconds: z
      .number()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .default(60)
      .describe(`How long to wait for the answer, 0 to ${MAX_WAIT_SECONDS}. Default: 60.`),
  })
  .meta({ id: 'MessageToAgent', examples: [{ message: 'Who am I?', waitSeconds: 30 }] });

export const historyQuery = z.strictObject({
  count: wholeNumberQuery(1, 500).prefault('20').describe('How many of the newest messages, 1 to 500.'),
});

export const agentView = z
  .object({
    id: z.string(),
    status: z
      .enum(['running', 'idle', 'stopped'])
      .describe('`running`: it works, starts or stops. `idle`: it runs and waits for messages.'),
    state: z.enum(AGENT_PHASES).describe('The same in detail.'),
    problem: z.string().optional().describe('Why it does not run.'),
    node: z.string().describe('The node whose engine runs it.'),
    accountId: z.string().optional().describe('Absent: it was added by the API, without a route.'),
    routeId: z.string().optional().describe('The route that it was made for.'),
    isolation: z
      .enum(['container', 'none'])
      .describe('`none`: a process that can read what wa2ai can read (no isolation).'),
    hosted: z
      .object({
        runtime: z.enum(['docker', 'process']),
        image: z.string().optional(),
        command: z.array(z.string()).optional(),
        profile: z.enum([...AGENT_PROFILES, 'swerex']).describe('`swerex`: the shell of a route.'),
        env: z.record(z.string(), z.literal('***')).describe('Names of its variables; values are not shown.'),
        memoryMb: z.number(),
        cpus: z.number(),
        pids: z.number(),
        network: z.enum(['none', 'internet']),
        pull: z.enum(['never', 'missing', 'always']),
        idleMinutes: z.number(),
      })
      .describe('How it runs, with all defaults.'),
    lastActivityAt: timeView.describe('End of its last request, or its last start. UTC, ISO 8601.'),
    createdAt: timeView,
    isDeleting: z.boolean().describe('Its node deletes it as soon as it can.'),
  })
  .meta({
    id: 'HostedAgent',
    examples: [
      {
        id: 'helper',
        status: 'idle',
        state: 'ready',
        node: 'node-1',
        isolation: 'container',
        hosted: {
          ...{ runtime: 'docker', image: 'chat-node:1', profile: 'chat', env: { MODEL_KEY: '***' } },
          ...{ memoryMb: 1024, cpus: 1, pids: 256, network: 'internet', pull: 'missing', idleMinutes: 10 },
        },
        lastActivityAt: '2026-01-31T12:00:01.204Z',
        createdAt: '2026-01-31T11:00:00.000Z',
        isDeleting: false,
      },
    ],
  });

export const fileView = z
  .object({
    path: z.string().describe("Within the agent's folder."),
    bytes: z.int(),
    changedAt: timeView,
  })
  .meta({
    id: 'HostedAgentFile',
    examples: [{ path: 'workspace/notes.txt', bytes: 120, changedAt: '2026-01-31T12:00:00.310Z' }],
  });

export const lineView = z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string() }).meta({
  id: 'HostedAgentLogLine',
  examples: [{ stream: 'stdout', text: 'agent listens on port 8080' }],
});

export const answerView = z
  .object({
    messageId: z.string().describe('Send it again to wait for the answer.'),
    state: z.enum(['working', 'answered']),
    response: z.string().optional().describe('The answer. Absent when the agent said nothing.'),
  })
  .meta({
    id: 'AnswerOfAgent',
    examples: [{ messageId: 'f2b1c0', state: 'answered', response: 'You are Ana.' }],
  });

export const messageView = z
  .object({ role: z.enum(['user', 'assistant']), content: z.string() })
  .meta({ id: 'MessageOfAgent', examples: [{ role: 'assistant', content: 'You are Ana.' }] });

export const failedView = z.object({ messageId: z.string(), code: z.string(), error: z.string() });

/** An agent as responses show it: without the values of its variables. */
export function viewOf({ agent, phase, nodeId, lastActivityMs, createdAtMs, ...record }: HostedAgentView) {
  const env = Object.fromEntries(Object.keys(agent.spec.env).map((name) => [name, '***' as const]));
  return shown(agentView, {
    ...agent,
    ...record,
    id: agent.agentId,
    state: phase,
    node: nodeId,
    hosted: { ...agent.spec, env, idleMinutes: agent.idleMs / 60_000 },
    lastActivityAt: lastActivityMs,
    createdAt: createdAtMs,
  });
}
