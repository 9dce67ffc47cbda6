import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import { AGENT_ID, AGENT_PHASES, AGENT_PROFILES, type HostedAgent } from '../../core/hosting/agent-life.ts';
import type { AgentExchange, HostedAgentView } from '../../core/hosting/hosted-agents.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { App, Feature } from '../../feature.ts';
import { type HostedSettings, hostedAgentOf } from '../../infra/agents/hosted/hosted-kind.ts';
import { kindNamed } from '../../infra/agents/route-config.ts';
import { systemClock } from '../../infra/clock/system-clock.ts';
import { secretText } from '../../infra/db/encryption/secret-cipher.ts';
import { type Endpoint, endpoint, refuseOtherRoute } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  listResponse,
  pageOf,
  pageQuery,
  pageResponse,
  shown,
  timeView,
  warningsField,
  wholeNumberQuery,
} from '../../infra/operations/fields.ts';
import { invalid, UploadedFile } from '../../infra/operations/form.ts';
import { streamLog } from '../../infra/operations/log-schemas.ts';
import { HttpProblem, mistakeAt, phraseField, problemSchema } from '../../infra/operations/problem.ts';
import { refusePrograms } from '../routes/route-history-api.ts';
import { HOSTED_AGENT_CONTEXT } from './postgres-agent-registry.ts';

export const hosting: Feature = {
  name: 'hosting',
  tags: {
    'Hosted agents': 'Agents that wa2ai runs: add, start, stop, talk to, read files and logs, delete.',
  },
  secrets: [secretText({ table: 'hosted_agent', column: 'settings', context: HOSTED_AGENT_CONTEXT })],
  liveEvents: { agent: { scopes: ['agents:manage'], honours: [] } },
  operations: agentsApi,
};

const params = { id: 'Id of the agent.' };
const notFound = { description: 'No such agent.', schema: problemSchema };
const elsewhere = {
  description:
    'The agent belongs to another node (`AGENT_ELSEWHERE`: new settings, the content of files, a log that is followed), or cannot run until somebody acts.',
  schema: problemSchema,
};
const away = { description: 'The agent or the engine does not answer; try again.', schema: problemSchema };

/** Agents that wa2ai runs: `/api/agents`. */
function agentsApi(app: App): Endpoint[] {
  const { hostedAgents, routes, keyWatch, log } = app;
  const kind = kindNamed(app.agentKinds, 'hosted');
  const agentBody = agentBodyOf(kind?.settings ?? z.never());
  const common = {
    tag: 'Hosted agents',
    scopes: ['agents:manage'] as const,
    honours: ['routes'] as const,
  };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents',
      operationId: 'listHostedAgents',
      summary: 'List the agents that wa2ai runs, of all nodes',
      query: agentsQuery,
      responses: { 200: { description: 'A page of agents.', schema: pageResponse(agentView) } },
      handle: async ({ query: { cursor, limit, node, routeId }, caller }) => {
        refuseOtherRoute(caller, routeId);
        const found = await hostedAgents.list({ nodeId: node, routeId, after: cursor, limit: limit + 1 });
        return { status: 200, json: pageOf(await viewsOf(found), limit, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/agents',
      operationId: 'putHostedAgent',
      summary: 'Add an agent, or change its settings',
      description:
        'The agent belongs to no chat: programs talk to it by its id. The first message, or `/start`, starts it. With a known id the settings are replaced; a running agent is created again with the same data by the next message.',
      body: agentBody,
      creates: {},
      responses: {
        200: { description: 'The agent has new settings.', schema: changedResponse(agentView) },
        201: { description: 'The agent was added.', schema: changedResponse(agentView) },
        403: { description: 'A process needs the scope `admin`.', schema: problemSchema },
        404: { description: 'No such route.', schema: problemSchema },
        409: elsewhere,
      },
      handle: async ({ body, caller }) => {
        refuseOtherRoute(caller, body.routeId);
        const known = await hostedAgents.get(body.id);
        if (known) refuseOtherRoute(caller, known.agent.routeId);
        const agent = await agentOf(body);
        for (const { spec } of [agent, ...(known ? [known.agent] : [])]) refusePrograms(caller, kind, spec);
        const { view, isNew } = await hostedAgents.put(agent);
        log.info({ agentId: body.id }, isNew ? 'hosted agent added' : 'hosted agent changed');
        const message = isNew ? 'Agent added.' : 'Agent changed.';
        const data = await viewOf(view);
        return { status: isNew ? 201 : 200, object: body.id, json: { success: true, message, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}',
      operationId: 'getHostedAgent',
      summary: 'Show an agent',
      params,
      responses: { 200: { description: 'The agent.', schema: dataResponse(agentView) }, 404: notFound },
      handle: async ({ params: { id = '' }, caller }) => {
        const data = await viewOf(await allowed(caller, id));
        return { status: 200, json: { success: true, data } };
      },
    }),
    change('start', 'Start an agent', 'Agent started.', 'Waits until it answers. A crash loop is over.'),
    change(
      'stop',
      'Stop an agent',
      'Agent stopped.',
      'Also while it works: its message is retried, which starts the agent.',
    ),
    change('restart', 'Stop an agent, and start it', 'Agent restarted.', 'Waits until it answers.'),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/agents/{id}',
      operationId: 'deleteHostedAgent',
      summary: 'Delete an agent with its data',
      description:
        'An agent of another node is deleted by that node, as soon as it runs. The next message of its chat makes a new one.',
      params,
      responses: {
        200: { description: 'The agent was deleted, or is being deleted.', schema: deletedResponse },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, caller }) => {
        await allowed(caller, id);
        const removed = found(await hostedAgents.remove(id));
        const message = removed === 'deleted' ? 'Agent deleted.' : 'Its node deletes the agent.';
        return { status: 200, json: { success: true, message } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/agents/{id}/messages',
      operationId: 'sendToHostedAgent',
      summary: 'Send a message to an agent',
      description:
        'Wakes the agent. Messages to one agent follow each other. The answer comes with this response when the agent gives it within `waitSeconds`; otherwise repeat the call with the same `messageId`, or read the messages.',
      params,
      body: messageBody,
      oldNames: { message: 'text' },
      responses: {
        200: { description: 'The answer.', schema: answerResponse },
        202: { description: 'The agent works on it.', schema: answerResponse },
        404: notFound,
        409: elsewhere,
        503: away,
      },
      handle: async ({ params: { id = '' }, body, caller }) => {
        await allowed(caller, id);
        const { text, messageId = randomUUID(), waitSeconds } = body;
        const exchange = found(await hostedAgents.send(id, { messageId, text }, waitSeconds * 1000));
        const data = answerOf(exchange);
        return { status: data.state === 'answered' ? 200 : 202, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}/messages',
      operationId: 'listHostedAgentMessages',
      isAudited: true,
      summary: 'Read the conversation of programs with an agent, oldest first',
      description:
        'As the agent stored it, without calls of tools; for the profiles `chat` (`GET /history`) and `adk`. Wakes the agent.',
      params,
      query: historyQuery,
      oldNames: { count: 'limit' },
      responses: {
        200: {
          description: 'The newest messages.',
          schema: listResponse(messageView).extend({
            working: z.array(z.string()).describe('Ids of messages that the agent works on.'),
            failed: z.array(failedView).describe('Messages that the agent did not answer.'),
            warnings: warningsField,
          }),
        },
        404: notFound,
        409: elsewhere,
        503: away,
      },
      handle: async ({ params: { id = '' }, query: { limit }, caller, signal }) => {
        await allowed(caller, id);
        const data = found(await hostedAgents.messages(id, limit, signal));
        const open = await hostedAgents.openExchanges(id);
        const working = open.flatMap(({ messageId, state }) => (state === 'working' ? [messageId] : []));
        const failed = open.flatMap((exchange) => (exchange.state === 'failed' ? [failureOf(exchange)] : []));
        return { status: 200, json: { success: true, data, count: data.length, working, failed } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}/logs',
      operationId: 'getHostedAgentLogs',
      isAudited: true,
      summary: 'Read what the program of an agent wrote',
      params,
      query: logsQuery,
      responses: {
        200: { description: 'The last lines, oldest first.', schema: listResponse(lineView) },
        404: notFound,
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, query: { tail, follow }, caller }) => {
        await allowed(caller, id);
        const gone = new AbortController();
        const lines = found(await hostedAgents.logs(id, { tail, follow, signal: gone.signal }));
        if (follow) {
          const unwatch = keyWatch.watch(caller, () => gone.abort());
          const stream = (response: Parameters<typeof streamLog>[0]) =>
            void streamLog(response, lines, { clock: systemClock, gone }).finally(unwatch);
          return { status: 200, stream };
        }
        const data: Array<z.output<typeof lineView>> = [];
        for await (const line of lines) data.push(line);
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}/files',
      operationId: 'listHostedAgentFiles',
      isAudited: true,
      summary: 'List the files of an agent',
      params,
      responses: {
        200: {
          description: 'Its files by path, the first 1,000, and what all its data takes on the disk.',
          schema: listResponse(fileView).extend({
            bytes: z
              .int()
              .describe('As `WA2AI_AGENT_DISK` counts: each file, folder and link takes at least 4,096.'),
          }),
        },
        404: notFound,
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, caller }) => {
        await allowed(caller, id);
        const { bytes, files } = found(await hostedAgents.files(id));
        const data = files.map((file) => shown(fileView, { ...file, changedAt: file.changedAtMs }));
        return { status: 200, json: { success: true, data, count: data.length, bytes } };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/agents/{id}/files',
      operationId: 'deleteHostedAgentFile',
      summary: 'Delete a file or folder of an agent',
      params,
      query: pathQuery,
      responses: {
        200: { description: 'It does not exist any more.', schema: deletedResponse },
        404: notFound,
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, query: { path }, caller }) => {
        await allowed(caller, id);
        found(await hostedAgents.deleteFile(id, path));
        return { status: 200, json: { success: true, message: 'Deleted.' } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}/files/content',
      operationId: 'readHostedAgentFile',
      isAudited: true,
      summary: 'Download a file of an agent',
      description: 'At most 64 MB.',
      params,
      query: pathQuery,
      responses: {
        200: { description: 'The bytes of the file.', contentType: 'application/octet-stream' },
        404: { description: 'No such agent or file.', schema: problemSchema },
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, query: { path }, caller }) => {
        await allowed(caller, id);
        const bytes = await hostedAgents.readFile(id, path);
        if (!bytes) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-agent-file'));
        const name = path.split('/').at(-1) ?? 'file';
        return {
          status: 200,
          stream: (response) => {
            response.status(200).attachment(name).type('application/octet-stream').send(Buffer.from(bytes));
          },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/agents/{id}/files/content',
      operationId: 'writeHostedAgentFile',
      summary: 'Upload a file of an agent',
      description:
        'A form (`multipart/form-data`) with one part, `file`, of at most 10 MB. The file replaces one with this path immediately, and never in part. Missing folders are made. No link is followed.',
      params,
      query: pathQuery,
      body: uploadBody,
      form: {
        isOnly: true,
        maxBytes: MAX_UPLOAD_BYTES,
        read: (parts) => Object.fromEntries(parts.map(({ name, value }) => [name, value])),
      },
      responses: {
        200: { description: 'The file is stored.', schema: deletedResponse },
        404: notFound,
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, query: { path }, body, caller }) => {
        const { agent } = await allowed(caller, id);
        // The program may run what it finds in its folder.
        refusePrograms(caller, kind, agent.spec);
        if (!found(await hostedAgents.writeFile(id, path, body.file.bytes))) {
          throw invalid('query', [
            {
              field: 'path',
              message: PHRASES['field.agent-file-path'],
            },
          ]);
        }
        log.info({ agentId: id, bytes: body.file.bytes.length }, 'file of a hosted agent stored');
        return { status: 200, json: { success: true, message: 'Stored.' } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/agents/{id}/files/archive',
      operationId: 'downloadHostedAgentFiles',
      isAudited: true,
      summary: 'Download all files of an agent',
      description: 'For a backup: stop the agent before, so that no file changes meanwhile.',
      params,
      responses: {
        200: { description: 'A tar archive.', contentType: 'application/x-tar' },
        404: notFound,
        409: elsewhere,
      },
      handle: async ({ params: { id = '' }, caller }) => {
        await allowed(caller, id);
        const archive = found(await hostedAgents.archive(id));
        return {
          status: 200,
          stream: (response) => {
            response.status(200).attachment(`${id}.tar`).type('application/x-tar');
            // A reader that has left, or a folder that cannot be read: the connection ends before the archive does.
            pipeline(archive, response).catch(() => response.destroy());
          },
        };
      },
    }),
  ];

  /** `POST /api/agents/{id}/<action>`. */
  function change(
    action: 'start' | 'stop' | 'restart',
    summary: string,
    message: string,
    description: string,
  ): Endpoint {
    return endpoint({
      ...common,
      method: 'post',
      path: `/api/agents/{id}/${action}`,
      operationId: `${action}HostedAgent`,
      ...{ summary, description, params },
      responses: {
        200: { description: 'The agent.', schema: changedResponse(agentView) },
        404: notFound,
        409: elsewhere,
        503: away,
      },
      handle: async ({ params: { id = '' }, caller }) => {
        await allowed(caller, id);
        const data = await viewOf(found(await hostedAgents[action](id)));
        log.info({ agentId: id, action }, 'hosted agent called by a program');
        return { status: 200, json: { success: true, message, data } };
      },
    });
  }

  async function viewOf(view: HostedAgentView): Promise<z.output<typeof agentView>> {
    const { routeId } = view.agent;
    return agentViewOf(view, routeId === undefined ? undefined : (await routes.get(routeId))?.name);
  }

  async function viewsOf(views: readonly HostedAgentView[]): Promise<Array<z.output<typeof agentView>>> {
    const ids = new Set(views.flatMap(({ agent }) => agent.routeId ?? []));
    const named = await Promise.all([...ids].map(async (id) => [id, (await routes.get(id))?.name] as const));
    const names = new Map(named);
    return views.map((view) => agentViewOf(view, names.get(view.agent.routeId ?? '')));
  }

  /** An agent that the caller may use. @throws {HttpProblem} 403, 404 */
  async function allowed(caller: Caller, agentId: string): Promise<HostedAgentView> {
    const view = found(await hostedAgents.get(agentId));
    refuseOtherRoute(caller, view.agent.routeId);
    return view;
  }

  /** @throws {HttpProblem} 400: settings that cannot be used; 404: no such route */
  async function agentOf({
    id,
    routeId,
    hosted,
  }: z.output<ReturnType<typeof agentBodyOf>>): Promise<HostedAgent> {
    if (routeId === undefined) {
      const problems = (await kind?.check?.(hosted)) ?? [];
      if (problems.length > 0)
        throw invalid(
          'body',
          problems.map(({ field, said }) => mistakeAt(`hosted.${field}`, said)),
        );
      return hostedAgentOf(id, hosted as HostedSettings);
    }
    const route = await routes.get(routeId);
    if (!route) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-route'));
    const { agent } = route.config;
    if (agent?.kind !== 'hosted')
      throw invalid('body', [{ field: 'routeId', message: PHRASES['field.hosted-route'] }]);
    return hostedAgentOf(id, agent.settings as HostedSettings, route);
  }
}

const deletedResponse = z.object({ success: z.literal(true), message: z.string() });

function answerOf(exchange: AgentExchange): z.output<typeof answerView> {
  if (exchange.state === 'failed') throw exchange.error;
  const { messageId, state } = exchange;
  return {
    ...{ messageId, state },
    ...(exchange.state === 'answered' && exchange.text !== undefined && { response: exchange.text }),
  };
}

function failureOf({
  messageId,
  error,
}: Extract<AgentExchange, { state: 'failed' }>): z.output<typeof failedView> {
  return { messageId, code: error.code, error: error.message };
}

/** @throws {HttpProblem} 404 */
function found<T>(value: T | undefined): T {
  if (value !== undefined) return value;
  throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-hosted-agent'));
}

const DEFAULT_PAGE = 50;
const DEFAULT_LINES = '200';
/** An agent may work for minutes; proxies end longer requests. */
const MAX_WAIT_SECONDS = 300;

const idField = z
  .string()
  .regex(AGENT_ID, PHRASES['field.id-63'])
  .refine((id) => !id.startsWith('r-'), PHRASES['field.route-prefix']);

/** @param settings of the agent kind `hosted` */
function agentBodyOf(settings: z.ZodType) {
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

const agentsQuery = z.strictObject({
  routeId: z.string().min(1).max(200).optional().describe('Only agents of this route.'),
  node: z.string().min(1).max(200).optional().describe('Only agents of this node.'),
  ...pageQuery(z.string().min(1).max(100), DEFAULT_PAGE),
});

const logsQuery = z.strictObject({
  tail: wholeNumberQuery(1, 10_000).prefault(DEFAULT_LINES).describe('How many of the last lines.'),
  follow: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .prefault('false')
    .describe('`true`: a stream of server-sent events, which goes on with new lines until the program ends.'),
});

const pathQuery = z.strictObject({
  path: z.string().min(1).max(4_096).describe("Within the agent's folder: `workspace/notes.txt`."),
});

/** Of a form with a file of at most 10 MB. */
const MAX_UPLOAD_BYTES = 11_000_000;
const MAX_FILE_BYTES = 10_000_000;

const uploadBody = z
  .strictObject({
    file: z
      .custom<UploadedFile>((value) => value instanceof UploadedFile, PHRASES['field.form-file'])
      .refine(({ bytes }) => bytes.length <= MAX_FILE_BYTES, PHRASES['field.some-megabytes'])
      .meta({ override: { type: 'string', format: 'binary', description: 'The file.' } }),
  })
  .meta({ id: 'HostedAgentUpload' });

const messageBody = z
  .strictObject({
    text: z.string().min(1).max(65_536),
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

const historyQuery = z.strictObject({
  limit: wholeNumberQuery(1, 500).prefault('20').describe('How many of the newest messages, 1 to 500.'),
});

export const agentView = z
  .object({
    id: z.string(),
    status: z
      .enum(['running', 'idle', 'stopped'])
      .describe('`running`: it works, starts or stops. `idle`: it runs and waits for messages.'),
    state: z.enum(AGENT_PHASES).describe('The same in detail.'),
    problem: z.string().optional().describe('Why it does not run.'),
    phrase: phraseField,
    node: z.string().describe('The node whose engine runs it.'),
    accountId: z.string().optional().describe('Absent: it was added by the API, without a route.'),
    routeId: z.string().optional().describe('The route that it was made for.'),
    routeName: z.string().optional().describe('The name of that route.'),
    usedBy: z
      .string()
      .optional()
      .describe(
        'Whose messages it answers: the name of the person or the group, else the address. Absent: a program, or every chat of its route.',
      ),
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

const fileView = z
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

const answerResponse = dataResponse(answerView).extend({ warnings: warningsField });

export const messageView = z
  .object({ role: z.enum(['user', 'assistant']), content: z.string() })
  .meta({ id: 'MessageOfAgent', examples: [{ role: 'assistant', content: 'You are Ana.' }] });

export const failedView = z.object({ messageId: z.string(), code: z.string(), error: z.string() });

/** An agent as responses show it: without the values of its variables. */
function agentViewOf(
  { agent, phase, nodeId, lastActivityMs, createdAtMs, ...record }: HostedAgentView,
  routeName: string | undefined,
) {
  const env = Object.fromEntries(Object.keys(agent.spec.env).map((name) => [name, '***' as const]));
  return shown(agentView, {
    ...agent,
    ...record,
    ...{ id: agent.agentId, routeName },
    state: phase,
    node: nodeId,
    hosted: { ...agent.spec, env, idleMinutes: agent.idleMs / 60_000 },
    lastActivityAt: lastActivityMs,
    createdAt: createdAtMs,
  });
}
