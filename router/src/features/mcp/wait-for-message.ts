import { z } from 'zod';
import { type WaitForMessageDeps, waitForMessage } from '../../core/messages/wait-for-message.ts';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { type McpTool, READS_CHATS, tool } from './tool.ts';
import { args, receivedMessage, shortMessageOf } from './views.ts';
import { waitSeconds, withProgress } from './waiting.ts';

export function waitForMessageTool(rest: RestCalls, deps: WaitForMessageDeps): McpTool {
  return tool({
    name: 'wait_for_message',
    title: 'Wait for a message',
    description:
      'Waits until somebody writes in a chat. Returns the messages that came, oldest first; call again with `after` to wait for the next ones. The messages are answered by the route of the chat as always.',
    ...rest.admissionOf('listChatMessages'),
    input: z.strictObject({
      chat: args.chat,
      after: z
        .string()
        .regex(/^\d{1,18}$/, 'must be the id of a message')
        .optional()
        .describe(
          'Only messages after this one: `after` of the call before, or the id of a message sent or received. Default: from now on.',
        ),
      wait_seconds: waitSeconds(),
    }),
    output: z.object({
      status: z.enum(['received', 'waiting']),
      messages: z.array(receivedMessage),
      after: z.string().describe('Send it as `after` to wait for the next messages.'),
    }),
    annotations: READS_CHATS,
    untrusted: 'people',
    run: async ({ chat, after, wait_seconds }, call) => {
      const { json } = await rest.call('getChat', call.caller, { params: { id: chat } });
      const { id: chatId } = json.data as { id: string };
      const waitMs = wait_seconds * 1_000;
      const found = await withProgress(deps.clock, wait_seconds, call, () =>
        waitForMessage(deps, { chatId, waitMs, ...(after !== undefined && { after }) }, call.signal),
      );
      const plain: unknown[] = JSON.parse(JSON.stringify(found.messages));
      const messages = plain.map(shortMessageOf) as Array<z.output<typeof receivedMessage>>;
      const status = messages.length > 0 ? ('received' as const) : ('waiting' as const);
      return { data: { status, messages, after: found.after }, object: chatId };
    },
  });
}
