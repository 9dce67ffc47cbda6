import { z } from 'zod';
import { PHRASES } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { faceSwitch, isOnIn, type SwitchedFace } from '../../infra/operations/face.ts';
import { listResponse } from '../../infra/operations/fields.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';
import { invalid } from '../../infra/operations/validate.ts';
import { mcpSettings } from '../mcp/mcp-settings.ts';

interface SettingsOfFace<Settings> {
  face: SwitchedFace;
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
      .enum(['environment', 'env-file', 'secret-file', 'default'])
      .describe(
        '`environment`: a variable of the process. `env-file`: a line of `.env`. `secret-file`: a file that another variable names.',
      ),
    isChangeable: z.boolean().describe('`true`: a call of this API changes it. `false`: with a restart.'),
  })
  .meta({ id: 'Setting' });

/** The settings of this node, and those of the protocols spoken to wa2ai: `/api/settings`. */
export function settingsApi(app: App): Endpoint[] {
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
        'The variables that this node was started with. Calls under `/api/settings/` show and change the settings that the database has.',
      responses: { 200: { description: 'Every setting.', schema: listResponse(settingView) } },
      handle: () => {
        // They are variables of the process: none changes while it runs.
        const data = app.config.settings.map((setting) => ({ ...setting, isChangeable: false }));
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    ...faceSettingsApi(app, {
      face: 'a2a',
      id: 'AgentToAgent',
      what: 'wa2ai as an A2A agent',
      settings: faceSwitch,
    }),
    ...faceSettingsApi(app, {
      face: 'mcp',
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

function faceSettingsApi<Settings extends { enabled: boolean }>(
  { faceSettings, config, log }: App,
  { face, id, what, settings, check }: SettingsOfFace<Settings>,
): Endpoint[] {
  const viewOf = (stored: unknown) => ({
    ...settings.safeParse(stored).data,
    enabled: isOnIn(stored, config.host),
  });
  return settingsOperations({
    name: face,
    id,
    tag: 'Settings',
    scopes: ['admin'],
    shows: `Show whether ${what} is on`,
    replaces: `Turn ${what} on or off`,
    description: 'Applies to all nodes at once. Default: on if WA2AI_HOST is a loopback address, else off.',
    body: settings,
    view: settings,
    show: async () => viewOf(await faceSettings.get(face)),
    replace: async (body, ifMatch) => {
      await check?.(body);
      await faceSettings.put(face, body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
      log.info({ face, enabled: body.enabled }, 'settings of a face changed');
      return { data: body, message: `${what} is ${body.enabled ? 'on' : 'off'}` };
    },
  });
}
