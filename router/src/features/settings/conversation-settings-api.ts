import { z } from 'zod';
import {
  type ConversationSettings,
  conversationDefaultFields,
} from '../../core/policies/conversation-fields.ts';
import { chatSettingsOf, originsOf, storedConversation } from '../../core/policies/settings.ts';
import type { App } from '../../feature.ts';
import type { Endpoint } from '../../infra/operations/endpoint.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';

const settingsBody = z
  .strictObject(conversationDefaultFields)
  .meta({ id: 'ConversationSettings', examples: [{ reply: { maxChars: 2000 } }] });

const settingsView = z
  .object({
    stored: z.looseObject({}).describe('What an admin stored for all routes.'),
    inUse: z
      .looseObject({})
      .describe('What applies to a route that sets nothing itself, with the built-in values.'),
    origins: z
      .record(z.string(), z.enum(['route', 'default', 'built-in']))
      .describe('Where each value of `inUse` comes from.'),
  })
  .meta({
    id: 'ConversationSettingsInUse',
    examples: [
      {
        stored: { reply: { maxChars: 2000 } },
        inUse: { reply: { format: 'whatsapp', maxChars: 2000 }, egressFilter: 'on' },
        origins: { 'reply.format': 'built-in', 'reply.maxChars': 'default', egressFilter: 'built-in' },
      },
    ],
  });

/** How wa2ai converses where a route does not say it: `/api/settings/conversation`. */
export function conversationSettingsApi(app: App): Endpoint[] {
  const { conversation, settingsStore, log } = app;
  return settingsOperations({
    name: 'conversation',
    id: 'Conversation',
    tag: 'Routes',
    scopes: ['agents:manage'],
    shows: 'Show how wa2ai converses where a route does not say it',
    replaces: 'Replace the defaults of all routes',
    description: "The same fields in a route's `config` take precedence over these.",
    body: settingsBody,
    view: settingsView,
    show: async () => viewOf(await conversation()),
    replace: async (body, ifMatch) => {
      const check = ifMatch && ((stored: unknown) => ifMatch(viewOf(storedConversation(stored))));
      await settingsStore.put('conversation', body, check);
      log.info({ fields: Object.keys(body) }, 'conversation settings changed');
      return { data: viewOf(body) };
    },
  });
}

function viewOf(stored: ConversationSettings): z.output<typeof settingsView> {
  return { stored, inUse: { ...chatSettingsOf(undefined, stored) }, origins: originsOf(undefined, stored) };
}
