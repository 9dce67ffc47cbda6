import { z } from 'zod';
import {
  type ConversationSettings,
  conversationDefaultFields,
} from '../../core/policies/conversation-fields.ts';
import { conversationOf, originsOf, storedConversation } from '../../core/policies/settings.ts';
import type { FaceSettings } from '../../core/ports/face-settings.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { changedResponse, dataResponse } from '../../infra/operations/fields.ts';

export interface ConversationSettingsApiDeps {
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;
  faceSettings: FaceSettings;
  log: Logger;
}

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
export function conversationSettingsApi(deps: ConversationSettingsApiDeps): Endpoint[] {
  const { conversation, faceSettings, log } = deps;
  const common = {
    tag: 'Routes' as const,
    path: '/api/settings/conversation',
    scopes: ['agents:manage'] as const,
    honours: [] as const,
    etag: true as const,
  };
  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: 'getConversationSettings',
      summary: 'Show how wa2ai converses where a route does not say it',
      responses: { 200: { description: 'The settings.', schema: dataResponse(settingsView) } },
      handle: async () => ({ status: 200, json: { success: true, data: viewOf(await conversation()) } }),
    }),
    endpoint({
      ...common,
      method: 'put',
      operationId: 'putConversationSettings',
      summary: 'Replace the defaults of all routes',
      description: "The same fields in a route's `config` take precedence over these.",
      body: settingsBody,
      responses: { 200: { description: 'The stored settings.', schema: changedResponse(settingsView) } },
      handle: async ({ body, ifMatch }) => {
        await faceSettings.put(
          'conversation',
          body,
          ifMatch && ((stored) => ifMatch(viewOf(storedConversation(stored)))),
        );
        log.info({ fields: Object.keys(body) }, 'conversation settings changed');
        return { status: 200, json: { success: true, message: 'Settings stored.', data: viewOf(body) } };
      },
    }),
  ];
}

function viewOf(stored: ConversationSettings): z.input<typeof settingsView> {
  return { stored, inUse: { ...conversationOf(undefined, stored) }, origins: originsOf(undefined, stored) };
}
