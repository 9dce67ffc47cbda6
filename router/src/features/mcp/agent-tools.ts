import { z } from 'zod';
import { orAbort } from '../../core/clock.ts';
import { AGENT_ID } from '../../core/hosting/agent-life.ts';
import { PHRASES } from '../../core/phrases.ts';
import type { Service } from '../../feature.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';
import type { RestCallResult } from '../../infra/operations/server.ts';
import { agentView, answerView, failedView, lineView, messageView } from '../hosting/feature.ts';
import { waitSeconds, withProgress } from './ask-person.ts';
import { type McpTool, READS, READS_CHATS, type ToolCall, tool } from './call-tool.ts';
import { args, next, nextOf } from './chat-tools.ts';
import { agentRouteOf } from './mcp-settings.ts';

/** Longest wait of `POST /api/agents/{id}/messages`. */
const MAX_WAIT_SECONDS = 300;

const agentId = z
  .string()
  .regex(AGENT_ID, PHRASES['field.id-63'])
  .describe('Id of the agent, such as `helper`.');

const failedMessage = failedView.omit({ messageId: true }).extend({ message_id: z.string() });

const shortAgent = agentView
  .pick({ status: true, state: true, problem: true, node: true, isolation: true })
  .extend({
    agent_id: z.string(),
    route_id: z.string().optional().describe('The route that it was made for.'),
    last_activity_at: z.string(),
  });

/** Agents that wa2ai runs: talk to them, and look after them. */
export function agentTools({ calls: rest, settingsStore, clock }: Service): McpTool[] {
  return [
    tool({
      name: 'send_message',
      title: 'Send a message to an agent',
      description:
        'Sends a message to an agent that wa2ai runs, and wakes it. An unknown agent is created. Returns immediately, or with the response when it comes within `wait_seconds`; afterwards get_messages has it. Does not write to WhatsApp: that is send_whatsapp_message.',
      ...rest.admissionOf('sendToHostedAgent'),
      input: z.strictObject({
        agent_id: agentId,
        message: z.string().min(1).max(65_536),
        wait_seconds: waitSeconds({ max: MAX_WAIT_SECONDS, byDefault: 0 }),
        message_id: z
          .string()
          .regex(/^[\w.:-]{1,200}$/, PHRASES['field.id-200'])
          .optional()
          .describe(
            'The returned id of a message: waits for its response and sends nothing again. Or an id that you choose, which makes a repeat safe.',
          ),
      }),
      output: z.object({
        status: z.literal('success'),
        agent_id: z.string(),
        message_id: z.string(),
        state: answerView.shape.state,
        response: z.string().optional().describe('Absent while it works, or when the agent said nothing.'),
        created: z.boolean().describe('The agent was unknown before.'),
      }),
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: true,
      },
      untrusted: 'agents',
      run: async ({ agent_id: id, message, wait_seconds: waitSeconds, message_id }, call) => {
        const send = (): Promise<RestCallResult> =>
          rest.call('sendToHostedAgent', call.caller, {
            params: { id },
            body: { text: message, messageId: message_id, waitSeconds },
          });
        const { json, created } = await withProgress(clock, waitSeconds, call, () =>
          orAbort(sentOrCreated(id, call, send), call.signal),
        );
        const { messageId, ...answer } = json.data as z.output<typeof answerView>;
        const ids = { agent_id: id, message_id: messageId };
        return { data: { status: 'success' as const, ...ids, ...answer, created }, object: id };
      },
    }),
    tool({
      name: 'get_messages',
      title: 'Read the conversation with an agent',
      description:
        'Reads the newest messages between programs and an agent that wa2ai runs, oldest first, without its tool calls. Wakes the agent. For WhatsApp chats use get_chat_messages.',
      ...rest.admissionOf('listHostedAgentMessages'),
      input: z.strictObject({
        agent_id: agentId,
        count: z.int().min(1).max(500).default(1).describe('How many of the newest messages, 1 to 500.'),
      }),
      output: z.object({
        agent_id: z.string(),
        messages: z.array(messageView),
        working: z.array(z.string()).describe('Ids of messages that the agent works on.'),
        failed: z.array(failedMessage).describe('Messages that the agent did not answer.'),
      }),
      annotations: READS_CHATS,
      untrusted: 'agents',
      run: async ({ agent_id: id, count }, { caller, signal }) => {
        const { json } = await rest.call('listHostedAgentMessages', caller, {
          params: { id },
          query: { limit: count },
          signal,
        });
        const { data, working, failed } = json as {
          data: Array<z.output<typeof messageView>>;
          working: string[];
          failed: Array<z.output<typeof failedView>>;
        };
        return {
          data: {
            agent_id: id,
            messages: data,
            working,
            failed: failed.map(({ messageId, ...why }) => ({ message_id: messageId, ...why })),
          },
          object: id,
        };
      },
    }),
    tool({
      name: 'list_agents',
      title: 'List agents',
      description: 'Lists the agents that wa2ai runs, by id: running (it works), idle (it waits) or stopped.',
      ...rest.admissionOf('listHostedAgents'),
      input: z.strictObject({
        route_id: z.string().min(1).max(200).optional().describe('Only agents of this route.'),
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: z.object({ agents: z.array(shortAgent), next }),
      annotations: READS,
      run: async ({ route_id, ...query }, { caller }) => {
        const { json } = await rest.call('listHostedAgents', caller, {
          query: { ...query, routeId: route_id },
        });
        const agents = (json.data as Array<z.output<typeof agentView>>).map(shortAgentOf);
        return { data: { agents, ...nextOf(json) } };
      },
    }),
    tool({
      name: 'agent_logs',
      title: 'Read the log of an agent',
      description: 'Reads the last lines that the program of an agent wrote, oldest first. Does not wake it.',
      ...rest.admissionOf('getHostedAgentLogs'),
      input: z.strictObject({
        agent_id: agentId,
        lines: z.int().min(1).max(1_000).default(100).describe('How many of the last lines, 1 to 1000.'),
      }),
      output: z.object({ agent_id: z.string(), lines: z.array(lineView) }),
      annotations: READS_CHATS,
      untrusted: 'agents',
      run: async ({ agent_id: id, lines: tail }, { caller, signal }) => {
        const { json } = await rest.call('getHostedAgentLogs', caller, {
          params: { id },
          query: { tail },
          signal,
        });
        const lines = json.data as Array<z.output<typeof lineView>>;
        return { data: { agent_id: id, lines }, object: id };
      },
    }),
  ];

  /** Sends to an agent, which is created when there is none. */
  async function sentOrCreated(id: string, { caller }: ToolCall, send: () => Promise<RestCallResult>) {
    try {
      return { ...(await send()), created: false };
    } catch (error) {
      if (!(error instanceof HttpProblem) || error.code !== 'NOT_FOUND') throw error;
    }
    const routeId = await agentRouteOf(settingsStore);
    if (routeId === undefined) {
      throw new HttpProblem(404, 'NOT_FOUND', {
        sentence:
          'There is no agent with this id, and wa2ai may create none: agentRouteId of PUT /api/settings/mcp names the route that new agents run as.',
      });
    }
    await rest.call('putHostedAgent', caller, { body: { id, routeId } });
    return { ...(await send()), created: true };
  }
}

function shortAgentOf(agent: z.output<typeof agentView>): z.output<typeof shortAgent> {
  const { id, routeId, lastActivityAt, status, state, problem, node, isolation } = agent;
  return {
    ...{ agent_id: id, status, state, node, isolation, last_activity_at: lastActivityAt },
    ...(problem !== undefined && { problem }),
    ...(routeId !== undefined && { route_id: routeId }),
  };
}
