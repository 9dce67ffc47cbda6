import { z } from 'zod';
import { writtenDuration } from '../../config/config-fields.ts';
import { serviceFields, serviceSettingsOf, storedService } from '../../config/live-settings.ts';
import { PHRASES } from '../../core/phrases.ts';
import { governorFields, governorOf } from '../../core/policies/governor.ts';
import type { App, Feature } from '../../feature.ts';
import { settingsChanged } from '../../infra/db/stores/postgres-settings.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { listResponse } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { isOnIn, type SwitchedServer, serverSwitch } from '../../infra/operations/protocol-server.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';
import { mcpSettings } from '../mcp/mcp-settings.ts';
import { conversationSettingsApi } from './conversation-settings-api.ts';

export const settings: Feature = {
  name: 'settings',
  tags: { Settings: 'Protocols spoken to wa2ai.' },
  liveEvents: { setting: { scopes: ['admin'], honours: [] } },
  noteChanges: (bus, note) => bus.on(settingsChanged, () => note({ type: 'setting' })),
  operations: (app) => [
    ...conversationSettingsApi(app),
    ...governorSettingsApi(app),
    ...serviceSettingsApi(app),
    ...settingsApi(app),
  ],
};

const EXAMPLE = {
  firstContacts: { perDay: 50, warmUpDays: 14 },
  quietHours: { from: '21:00', to: '08:00', timeZone: 'Europe/Madrid' },
  messages: { perSecond: 20, burst: 100 },
  typing: { charsPerSecond: 30 },
};

const governorBody = governorFields.meta({ id: 'GovernorSettings', examples: [EXAMPLE] });

const settingsView = z
  .object({
    stored: z.looseObject({}).describe('What an admin stored.'),
    inUse: z.looseObject({}).describe('What applies to an account without its own settings.'),
    accounts: z
      .record(z.string(), z.looseObject({}))
      .describe('What applies to accounts with their own settings.'),
  })
  .meta({ id: 'GovernorSettingsInUse', examples: [{ stored: EXAMPLE, inUse: EXAMPLE, accounts: {} }] });

/** How many messages an account sends, and when it writes first: `/api/settings/governor`. */
function governorSettingsApi({ settingsStore, log }: App): Endpoint[] {
  return settingsOperations({
    name: 'governor',
    id: 'Governor',
    tag: 'Accounts',
    scopes: ['agents:manage'],
    shows: 'Show how many messages accounts send, and when they write first',
    replaces: 'Replace how many messages accounts send, and when they write first',
    body: governorBody,
    view: settingsView,
    show: async () => viewOf(await settingsStore.get('governor')),
    replace: async (body, ifMatch) => {
      await settingsStore.put('governor', body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
      log.info({ fields: Object.keys(body) }, 'governor settings changed');
      return { data: viewOf(body) };
    },
  });
}

function viewOf(stored: unknown): z.output<typeof settingsView> {
  const { data = {} } = governorFields.safeParse(stored ?? {});
  const accounts = Object.keys(data.accounts ?? {}).map((id) => [id, { ...governorOf(stored, id) }]);
  return { stored: data, inUse: { ...governorOf(stored) }, accounts: Object.fromEntries(accounts) };
}

const serviceBody = serviceFields.meta({
  id: 'ServiceSettings',
  examples: [{ agentTimeoutMs: 60_000, retention: { textDays: 30 } }],
});

const serviceView = z
  .object({
    stored: z.looseObject({}).describe('What an admin stored.'),
    inUse: z.looseObject({}).describe('What applies, with the values of variables.'),
  })
  .meta({
    id: 'ServiceSettingsInUse',
    examples: [{ stored: { logLevel: 'debug' }, inUse: { logLevel: 'debug', exchanges: 'on' } }],
  });

/** Settings of the service that need no restart: `/api/settings/service`. */
function serviceSettingsApi({ config, settingsStore, log }: App): Endpoint[] {
  const viewOf = (stored: unknown): z.output<typeof serviceView> => ({
    stored: storedService(stored),
    inUse: { ...serviceSettingsOf(stored, config) },
  });
  return settingsOperations({
    name: 'service',
    id: 'Service',
    tag: 'Settings',
    scopes: ['admin'],
    shows: 'Show the settings of the service that need no restart',
    replaces: 'Replace the settings of the service that need no restart',
    description:
      'Applies to all nodes immediately. An absent field has the value of its environment variable.',
    body: serviceBody,
    view: serviceView,
    show: async () => viewOf(await settingsStore.get('service')),
    replace: async (body, ifMatch) => {
      await settingsStore.put('service', body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
      log.info({ fields: Object.keys(body) }, 'settings of the service changed');
      return { data: viewOf(body) };
    },
  });
}

/** The variables that are the defaults of `/api/settings/service`, and what is stored instead, as a variable would say it. */
const CHANGEABLE: ReadonlyMap<string, (stored: ReturnType<typeof storedService>) => string | undefined> =
  new Map([
    ['WA2AI_AGENT_TIMEOUT', ({ agentTimeoutMs }) => written(agentTimeoutMs)],
    ['WA2AI_MAX_MESSAGE_AGE', ({ maxMessageAgeMs }) => written(maxMessageAgeMs)],
    ['WA2AI_EXCHANGES', ({ exchanges }) => exchanges],
    ['WA2AI_LOG_LEVEL', ({ logLevel }) => logLevel],
    ['WA2AI_RETENTION_TEXTS', ({ retention }) => written(retention?.textDays, DAY_MS)],
    ['WA2AI_RETENTION_FILES', ({ retention }) => written(retention?.fileDays, DAY_MS)],
    ['WA2AI_RETENTION_RECORDS', ({ retention }) => written(retention?.recordDays, DAY_MS)],
  ]);

const DAY_MS = 86_400_000;

function written(count: number | undefined, unitMs = 1): string | undefined {
  return count === undefined ? undefined : writtenDuration(count * unitMs);
}

interface SettingsOfServer<Settings> {
  server: SwitchedServer;
  id: string;
  what: string;
  settings: z.ZodType<Settings>;
  /** Finds mistakes that the schema does not. @throws {HttpProblem} */
  check?(settings: Settings): Promise<void>;
}

const settingView = z
  .object({
    name: z.string().describe('The environment variable.'),
    group: z.string().describe('Heading in [the settings](settings.md).'),
    meaning: z.string(),
    values: z.string().optional().describe('Values it takes, in words.'),
    default: z.string().optional().describe('As it would be written, or in words. Absent: none.'),
    value: z
      .string()
      .optional()
      .describe('The value in force, as it is written. Absent for a secret, and without value and default.'),
    isSecret: z.boolean(),
    isSet: z.boolean().describe('Whether it has a value that is not the default.'),
    origin: z
      .enum(['stored', 'environment', 'env-file', 'secret-file', 'default'])
      .describe(
        '`stored`: `PUT /api/settings/service`. `environment`: a variable of the process. `env-file`: a line of `.env`. `secret-file`: the file that `NAME_FILE` names.',
      ),
    isChangeable: z
      .boolean()
      .describe('`true`: `PUT /api/settings/service` replaces it. `false`: it changes with a restart.'),
  })
  .meta({ id: 'Setting' });

/** The settings of this node, and those of the protocols spoken to wa2ai: `/api/settings`. */
function settingsApi(app: App): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/api/settings',
      operationId: 'listSettings',
      scopes: ['admin'],
      honours: [],
      tag: 'Settings',
      summary: 'List the settings of this node, with value and origin',
      description:
        'The variables, with what is stored instead of them. Calls under `/api/settings/` show and change the settings that the database has.',
      responses: { 200: { description: 'Every setting.', schema: listResponse(settingView) } },
      handle: async () => {
        const stored = storedService(await app.settingsStore.get('service'));
        const data = app.config.settings.map((setting) => {
          const isChangeable = CHANGEABLE.has(setting.name);
          const value = CHANGEABLE.get(setting.name)?.(stored);
          if (value === undefined) return { ...setting, isChangeable };
          return { ...setting, value, isSet: true, origin: 'stored' as const, isChangeable };
        });
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    ...serverSettingsApi(app, {
      server: 'a2a',
      id: 'AgentToAgent',
      what: 'wa2ai as an A2A agent',
      settings: serverSwitch,
    }),
    ...serverSettingsApi(app, {
      server: 'mcp',
      id: 'McpServer',
      what: 'wa2ai as an MCP server',
      settings: mcpSettings,
      check: async ({ agentRouteId }) => {
        if (agentRouteId === undefined) return;
        const route = await app.routes.get(agentRouteId);
        if (route?.config.agent?.kind === 'hosted') return;
        throw invalid('body', [{ field: 'agentRouteId', message: PHRASES['field.hosted-route'] }]);
      },
    }),
  ];
}

function serverSettingsApi<Settings extends { enabled: boolean }>(
  { settingsStore, config, log }: App,
  { server, id, what, settings, check }: SettingsOfServer<Settings>,
): Endpoint[] {
  const viewOf = (stored: unknown) => ({
    ...settings.safeParse(stored).data,
    enabled: isOnIn(stored, config.host),
  });
  return settingsOperations({
    name: server,
    id,
    tag: 'Settings',
    scopes: ['admin'],
    shows: `Show whether ${what} is on`,
    replaces: `Turn ${what} on or off`,
    description:
      'Applies to all nodes immediately. Default: on if WA2AI_HOST is a loopback address, else off.',
    body: settings,
    view: settings,
    show: async () => viewOf(await settingsStore.get(server)),
    replace: async (body, ifMatch) => {
      await check?.(body);
      await settingsStore.put(server, body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
      log.info({ server, enabled: body.enabled }, 'settings of a server changed');
      return { data: body, message: `${what} is ${body.enabled ? 'on' : 'off'}` };
    },
  });
}
