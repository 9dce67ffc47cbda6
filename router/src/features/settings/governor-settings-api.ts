import { z } from 'zod';
import { governorFields, governorOf } from '../../core/policies/governor.ts';
import type { App } from '../../feature.ts';
import type { Endpoint } from '../../infra/operations/endpoint.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';

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
export function governorSettingsApi({ faceSettings, log }: App): Endpoint[] {
  return settingsOperations({
    name: 'governor',
    id: 'Governor',
    tag: 'Accounts',
    scopes: ['agents:manage'],
    shows: 'Show how many messages accounts send, and when they write first',
    replaces: 'Replace how many messages accounts send, and when they write first',
    body: settingsBody,
    view: settingsView,
    show: async () => viewOf(await faceSettings.get('governor')),
    replace: async (body, ifMatch) => {
      await faceSettings.put('governor', body, ifMatch && ((stored) => ifMatch(viewOf(stored))));
      log.info({ fields: Object.keys(body) }, 'governor settings changed');
      return { data: viewOf(body) };
    },
  });
}

function viewOf(stored: unknown): z.input<typeof settingsView> {
  const { data = {} } = governorFields.safeParse(stored ?? {});
  const accounts = Object.keys(data.accounts ?? {}).map((id) => [id, { ...governorOf(stored, id) }]);
  return { stored: data, inUse: { ...governorOf(stored) }, accounts: Object.fromEntries(accounts) };
}
