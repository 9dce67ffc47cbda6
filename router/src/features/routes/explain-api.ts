import { z } from 'zod';
import type { ToUs } from '../../core/messages/inbound-message.ts';
import { PHRASES } from '../../core/phrases.ts';
import { MAX_TAGS, tagField } from '../../core/routing/when-fields.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint, refuseOtherChat } from '../../infra/operations/endpoint.ts';
import { accountIdField, dataResponse, searchedChatField, timeQuery } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { mistakeAt, phraseField } from '../../infra/operations/problem.ts';

const explainBody = z
  .strictObject({
    accountId: accountIdField.optional(),
    channelId: searchedChatField.optional().describe('The chat. Default: the 1:1 chat with `from`.'),
    from: searchedChatField.optional().describe('Who writes. Default, in a 1:1 chat: that person.'),
    text: z.string().max(65_536).describe('Text of the message.'),
    environment: z.enum(['lab', 'prod']).optional().describe("Default: the service's own."),
    media: z
      .strictObject({
        kind: z.enum(['image', 'video', 'audio', 'voice', 'document', 'sticker']),
        mimeType: z.string().min(1).max(100).default('application/octet-stream'),
        fileName: z.string().max(200).optional(),
        sizeBytes: z.int().min(0).optional(),
      })
      .optional()
      .describe('The file that the message would carry.'),
    kind: z
      .enum(['text', 'location', 'contact', 'poll', 'other'])
      .optional()
      .describe('What the message is, without a file. Default: text.'),
    at: timeQuery.optional().describe('When the message is received. Default: now.'),
    tags: z.array(tagField).max(MAX_TAGS).optional().describe('Tags of the chat. Default: those it has.'),
    isFirstContact: z
      .boolean()
      .optional()
      .describe('No message of the chat was answered before. Default: as it is.'),
    isMentioned: z.boolean().optional().describe('The message mentions the account. Default: false.'),
    quotesUs: z
      .boolean()
      .optional()
      .describe('The message replies to a message of the account. Default: false.'),
  })
  .refine((body) => body.channelId !== undefined || body.from !== undefined, {
    path: ['channelId'],
    error: PHRASES['field.missing-chat'],
  })
  .meta({ id: 'MessageToExplain', examples: [{ from: '+54 9 3777 239922', text: 'hello' }] });

export const explanationView = z
  .looseObject({
    decision: z.enum(['route', 'none']).describe('Whether a route takes the message.'),
    outcome: z
      .enum(['answer', 'no-answer'])
      .describe('`no-answer`: no route takes it, its route cannot be used, or a policy ends its turn.'),
    sentence: z.string().describe('Which agent answers, or why none does.'),
    phrase: phraseField,
    route: z
      .object({
        id: z.string(),
        name: z.string().optional(),
        channelId: z.string(),
        agentEndpoint: z.string().optional(),
      })
      .optional(),
    reason: z.string().optional(),
    identity: z.object({
      accountId: z.string(),
      environment: z.enum(['lab', 'prod']),
      channelIds: z.array(z.string()),
      isGroup: z.boolean(),
      from: z.string().optional(),
    }),
    sessionId: z.string().optional().describe('Session of the agent contract.'),
    userId: z.string().optional().describe('User of the agent contract.'),
    call: z
      .looseObject({})
      .optional()
      .describe(
        'The request that the agent would get, without secrets. For an ABI agent: function, selector, arguments and calldata; or the reply without a call.',
      ),
    trace: z
      .array(
        z.object({
          routeId: z.string(),
          name: z.string().optional(),
          channelId: z.string(),
          priority: z.int(),
          outcome: z.string(),
          sentence: z.string(),
          phrase: phraseField,
          conditions: z
            .array(
              z.object({
                condition: z.string(),
                holds: z.boolean(),
                sentence: z.string(),
                phrase: phraseField,
              }),
            )
            .optional()
            .describe('Each condition of its `when`, when they were evaluated.'),
        }),
      )
      .describe('One entry per rule, in the order in which rules are checked.'),
    policies: z
      .array(
        z.object({
          policy: z.string(),
          outcome: z.enum(['continues', 'ends', 'not-reached']),
          reason: z.string().optional().describe('The reason that the message would be stored with.'),
          sentence: z.string(),
          phrase: phraseField,
        }),
      )
      .optional()
      .describe(
        'What each policy of the conversation decides about the message, in order, with what is stored of the chat.',
      ),
  })
  .meta({ id: 'Explanation' });

/** Which route a message would take, rule by rule: `POST /api/routes/explain`. */
export function explainApi({ explain, aliasesOf, config }: App): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/api/routes/explain',
      operationId: 'explainRoute',
      scopes: ['routes:read'],
      // Not routes: the explanation names every route that could take the message.
      honours: ['chats', 'accounts'],
      tag: 'Routes',
      summary: 'Say which route a message would take, and why',
      body: explainBody,
      responses: {
        200: { description: 'The decision, rule by rule.', schema: dataResponse(explanationView) },
      },
      handle: async ({ body, caller }) => {
        const accountId = body.accountId ?? config.accountId;
        const channelId = body.channelId ?? body.from ?? '';
        await refuseOtherChat(caller, { accountId, channelId }, aliasesOf);
        const { isMentioned, quotesUs, ...given } = body;
        const toUs = toUsOf(isMentioned, quotesUs);
        const result = await explain({ ...given, accountId, ...(toUs && { toUs }) });
        if (result.kind === 'explanation') {
          return { status: 200, json: { success: true, data: result.explanation } };
        }
        throw invalid('body', [mistakeAt(result.field, result.mistake)]);
      },
    }),
  ];
}

function toUsOf(isMentioned = false, quotesUs = false): ToUs | undefined {
  if (isMentioned) return quotesUs ? 'both' : 'mention';
  return quotesUs ? 'quote' : undefined;
}
