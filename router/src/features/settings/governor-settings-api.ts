import { z } from 'zod';
import { governorFields, governorOf } from '../../core/policies/governor.ts';
import type { FaceSettings } from '../../core/ports/face-settings.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { changedResponse, dataResponse } from '../../infra/operations/fields.ts';

export interface GovernorSettingsApiDeps {
  faceSettings: FaceSettings;
  log: Logger;
}

const EXAMPLE = {
  firstContacts: { perDay: 50, warmUpDays: 14 },
  quietHours: { from: '21:00', to: '08:00', timeZone: 'Europe/Madrid' },
  messages: { perSecond: 20, burst: 100 },
  typing: { charsPerSecond: 30 },
};

const settingsBody = governorFields.meta({ id: 'GovernorSettings', examples: [EXAMPLE] });

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
export function governorSettingsApi({ faceSettings, log }: GovernorSettingsApiDeps): Endpoint[] {
  const common = {
    tag: 'Accounts' as const,
    path: '/api/settings/governor',
    scopes: ['agents:manage'] as const,
    honours: [] as const,
    etag: true as const,
  };
  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: 'getGovernorSettings',
      summary: 'Show how many messages accounts send, and when they write first',
      responses: { 200: { description: 'The settings.', schema: dataResponse(settingsView) } },
      handle: async () => ({
        status: 200,
        json: { success: true, data: viewOf(await faceSettings.get('governor')) },
      }),
    }),
    endpoint({
      ...common,
      method: 'put',
      operationId: 'putGovernorSettings',
      summary: 'Replace how many messages accounts send, and when they write first',
      body: settingsBody,
      responses: { 200: { description: 'The stored settings.', schema: changedResponse(settingsView) } },
      handle: async ({ body, ifMatch }) => {
        await faceSettings.put('governor', body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
        log.info({ fields: Object.keys(body) }, 'governor settings changed');
        return { status: 200, json: { success: true, message: 'Settings stored.', data: viewOf(body) } };
      },
    }),
  ];
}

function viewOf(stored: unknown): z.input<typeof settingsView> {
  const { data = {} } = governorFields.safeParse(stored ?? {});
  const accounts = Object.keys(data.accounts ?? {}).map((id) => [id, { ...governorOf(stored, id) }]);
  return { stored: data, inUse: { ...governorOf(stored) }, accounts: Object.fromEntries(accounts) };
}
