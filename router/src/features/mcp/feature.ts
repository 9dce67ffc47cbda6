import type { RequestHandler } from 'express';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { MessageWatch } from '../../core/messages/message-watch.ts';
import type { Feature } from '../../feature.ts';
import { refuseForeignOrigin } from '../../infra/operations/guard.ts';
import { isServerOn, type ProtocolServer } from '../../infra/operations/protocol-server.ts';
import type { McpServerDeps } from './mcp-server.ts';

/** wa2ai as an MCP server. */
export const mcp: Feature = {
  name: 'mcp',
  servers: (service) => [
    mcpEndpoint({
      ...service,
      accountId: service.config.accountId,
      feed: service.taskFeed,
      tasks: service.tasks,
      rest: service.calls,
      bus: service.bus,
      watch: new MessageWatch(service),
    }),
  ],
};

interface McpEndpointDeps extends McpServerDeps {
  config: { host: string };
}

/** wa2ai as an MCP server. The SDK is loaded by the first request while it is on. */
export function mcpEndpoint(deps: McpEndpointDeps): ProtocolServer {
  let loading: Promise<RequestHandler> | undefined;
  const load = () => {
    loading ??= import('./mcp-server.ts').then(({ mcpServer }) => mcpServer(deps));
    return loading;
  };
  return {
    path: '/mcp',
    scopes: ['mcp'],
    // Each tool, resource and prompt states its own.
    honours: RESTRICTIONS,
    isOn: () => isServerOn(deps.settingsStore, 'mcp', deps.config.host),
    handle: async (request, response, next) => {
      // Also with a key: a web page must not use one that a person pasted into it.
      refuseForeignOrigin(request);
      const handle = await load();
      handle(request, response, next);
    },
  };
}
