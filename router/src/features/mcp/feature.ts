import type { RequestHandler } from 'express';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import type { Feature, Service } from '../../feature.ts';
import { refuseForeignOrigin } from '../../infra/operations/guard.ts';
import { isServerOn, type ProtocolServer } from '../../infra/operations/protocol-server.ts';

/** wa2ai as an MCP server. */
export const mcp: Feature = {
  name: 'mcp',
  servers: (service) => [mcpEndpoint(service)],
};

/** wa2ai as an MCP server. The SDK is loaded by the first request while it is on. */
export function mcpEndpoint(service: Service): ProtocolServer {
  let loading: Promise<RequestHandler> | undefined;
  const load = () => {
    loading ??= import('./mcp-server.ts').then(({ mcpServer }) => mcpServer(service));
    return loading;
  };
  return {
    path: '/mcp',
    scopes: ['mcp'],
    // Each tool, resource and prompt states its own.
    honours: RESTRICTIONS,
    isOn: () => isServerOn(service.settingsStore, 'mcp', service.config.host),
    handle: async (request, response, next) => {
      // Also with a key: a web page must not use one that a person pasted into it.
      refuseForeignOrigin(request);
      const handle = await load();
      handle(request, response, next);
    },
  };
}
