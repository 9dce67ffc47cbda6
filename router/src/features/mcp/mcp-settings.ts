import { z } from 'zod';
import type { SettingsStore } from '../../core/ports/settings-store.ts';
import { serverSwitch } from '../../infra/operations/protocol-server.ts';

/** Settings of wa2ai as an MCP server. */
export const mcpSettings = serverSwitch
  .extend({
    agentRouteId: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Id of a route with `config.hosted`: agents that the tool `send_message` creates run as it says. Absent: the tool creates none.',
      ),
  })
  .meta({
    id: 'McpSettings',
    examples: [{ enabled: true, agentRouteId: '5f0c3c3e-8f0e-4b62-9d1a-0c2f6d1b7a10' }],
  });

/** The route whose settings agents get that `send_message` creates. @throws {StorageUnavailableError} */
export async function agentRouteOf(settings: Pick<SettingsStore, 'get'>): Promise<string | undefined> {
  return mcpSettings.safeParse(await settings.get('mcp')).data?.agentRouteId;
}
