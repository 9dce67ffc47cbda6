import { expect, onTestFinished } from 'vitest';
import type { NodeBus } from '../../router/src/core/cluster/node-bus.ts';
import type { AuditEvent } from '../../router/src/core/ports/audit-log.ts';
import { mcpEndpoint } from '../../router/src/features/mcp/feature.ts';
import { serveTask } from '../../router/src/features/tasks/serve-task.ts';
import { operationsOf } from '../../router/src/features.ts';
import { SERVER_LIMITS } from '../../router/src/infra/operations/http-listener.ts';
import { createHttpServer, RestCalls } from '../../router/src/infra/operations/server.ts';
import { aMessage, aPerson } from '../contracts/adapters.ts';
import { MemoryChatStore } from '../doubles/memory-chat-store.ts';
import { MemoryDurableTasks } from '../doubles/memory-durable-tasks.ts';
import { MemoryInbox } from '../doubles/memory-inbox.ts';
import { MemoryMessageLog } from '../doubles/memory-message-log.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { serviceWith } from './app-with.ts';
import { startHttpApi } from './http-api.ts';
import { serving } from './serving.ts';

/** The MCP server over in-memory stores and the REST API, on a clock that the test moves; closed when the test ends. */
export async function startMcpFace({
  apiKey,
  host = '127.0.0.1',
  bus = new MemoryNodeHub().connect('n1'),
}: {
  apiKey?: string;
  host?: string;
  bus?: NodeBus;
} = {}) {
  const api = await startHttpApi({ ...(apiKey !== undefined && { apiKey }) });
  const all = serving();
  const messageLog = new MemoryMessageLog(all.state);
  const inbox = new MemoryInbox(all.state);
  const chatStore = new MemoryChatStore(all.state);
  const operations = operationsOf({
    ...api.app,
    messageLog,
    chatStore,
    routes: all.routes,
    sendMessage: all.service.sendMessage,
  });
  const tasks = new MemoryDurableTasks({
    'serve-task': (steps, input) => serveTask(all.service, steps, input),
  });
  const events: AuditEvent[] = [];
  const stopping = new AbortController();
  const server = await createHttpServer({
    ...api.options,
    // On a busy machine the client sends on a connection that the server closes at this moment.
    limits: { ...SERVER_LIMITS, keepAliveTimeoutMs: 600_000 },
    endpoints: operations,
    servers: [
      mcpEndpoint(
        serviceWith({
          settingsStore: api.app.settingsStore,
          config: { host, accountId: 'default' },
          calls: new RestCalls(() => operations),
          keyWatch: api.npc.keyWatch,
          servedTasks: all.servedTasks,
          taskFeed: all.feed,
          tasks,
          accounts: api.accounts,
          aliasesOf: api.app.aliasesOf,
          messageLog,
          recorder: {
            recordChange: async (event) => void events.push(event),
            recordRead: (event) => void events.push(event),
          },
          bus: { publish: bus.publish.bind(bus), on: bus.on.bind(bus) },
          clock: all.clock,
          log: api.log,
          stopping: stopping.signal,
        }),
      ),
    ],
  });
  onTestFinished(async () => {
    stopping.abort();
    await server.close();
    await api.close();
  });
  return {
    ...all,
    api,
    url: server.url,
    /** What the audit log got. */
    events,
    stopping,
    inbox,
    /** A person writes; the chat then exists. */
    say: async (text: string, person = aPerson()) => {
      const stored = await inbox.add(aMessage('default', person, { text }), 'n1');
      return { person, chatId: stored.chatId, messageId: stored.messageId };
    },
  };
}

/** Waits until so many things of the face wait for time to pass. */
export async function untilAsleep({ clock }: { clock: { sleeping: number } }, count: number): Promise<void> {
  await expect.poll(() => clock.sleeping).toBeGreaterThanOrEqual(count);
}

export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
export const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** A ping without a client. @returns the status, and the code of a refusal */
export async function postMcp(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; code?: string }> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: PING,
  });
  const text = await response.text();
  return { status: response.status, ...(response.ok ? {} : (JSON.parse(text || '{}') as { code?: string })) };
}
