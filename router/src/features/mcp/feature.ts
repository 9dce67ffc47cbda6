import { MessageWatch } from '../../core/messages/message-watch.ts';
import type { Feature } from '../../feature.ts';
import { mcpFace } from './mcp-face.ts';

/** wa2ai as an MCP server. */
export const mcp: Feature = {
  name: 'mcp',
  faces: (service) => [
    mcpFace({
      ...service,
      accountId: service.config.accountId,
      feed: service.taskFeed,
      starter: service.taskStarter,
      rest: service.calls,
      cancelRelay: service.bus,
      watch: new MessageWatch(service),
    }),
  ],
};
