import { z } from 'zod';
import { deadLetterView } from '../../infra/operations/log-schemas.ts';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { type McpTool, READS_CHATS, SENDS, tool } from './tool.ts';
import { args, next, nextOf } from './views.ts';

const shortLetter = deadLetterView.omit({ trace: true }).meta({ id: 'McpDeadLetter' });

/** Messages and replies that were given up. */
export function deadLetterTools(rest: RestCalls): McpTool[] {
  return [
    tool({
      name: 'list_dead_letters',
      title: 'List dead letters',
      description:
        'Lists messages without an answer and messages that were not sent, newest first, each with its reason, a sentence for operators and its text.',
      ...rest.admissionOf('listDeadLetters'),
      input: z.strictObject({
        state: z.enum(['open', 'replayed', 'closed']).default('open'),
        reason: z.string().min(1).max(200).optional().describe('Only dead letters with exactly this reason.'),
        channel: args.channel
          .optional()
          .describe('Only this chat: a phone number with its country code, a JID or a group id.'),
        account_id: args.accountId,
        since: args.since,
        until: args.until,
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: z.object({ deadLetters: z.array(shortLetter), next }),
      annotations: READS_CHATS,
      untrusted: 'people',
      run: async ({ channel, account_id, ...query }, { caller }) => {
        const { json } = await rest.call('listDeadLetters', caller, {
          query: { ...query, channelId: channel, accountId: account_id },
        });
        const deadLetters = (json.data as Array<z.output<typeof deadLetterView>>).map(
          ({ trace: _trace, ...letter }) => letter,
        );
        return { data: { deadLetters, ...nextOf(json) } };
      },
    }),
    tool({
      name: 'replay_dead_letter',
      title: 'Replay a dead letter',
      description:
        'Answers the message of a dead letter again, by the route table as it is now, or sends its reply again. If it fails again, the same dead letter is open again.',
      ...rest.admissionOf('replayDeadLetter'),
      input: z.strictObject({ dead_letter_id: z.string().min(1).max(20) }),
      output: z.object({ deadLetterId: z.string(), status: z.literal('replayed') }),
      annotations: { ...SENDS, idempotentHint: false },
      run: async ({ dead_letter_id }, { caller }) => {
        const { object } = await rest.call('replayDeadLetter', caller, { params: { id: dead_letter_id } });
        return {
          data: { deadLetterId: dead_letter_id, status: 'replayed' as const },
          ...(object && { object }),
        };
      },
    }),
  ];
}
