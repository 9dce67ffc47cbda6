import { z } from 'zod';
import { type Caller, RESTRICTIONS } from '../../core/access/caller.ts';
import { chatHash } from '../../core/chat-id.ts';
import { OF_MESSAGES } from '../../core/live/live-event.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { Draft } from '../../core/ports/pending-answers.ts';
import type { App, Feature } from '../../feature.ts';
import { allowedPart, type Endpoint, endpoint, refuseOtherChat } from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  dataResponse,
  isRowId,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  searchedChatField,
  timeView,
} from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';

const listQuery = z.strictObject({
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  channelId: searchedChatField.optional().describe('Only this chat: a phone number, a JID or a group id.'),
  ...pageQuery(rowIdField, 50),
});

const approveBody = z
  .strictObject({
    text: z
      .string()
      .max(65_536)
      .refine((text) => text.trim() !== '', PHRASES['field.not-blank'])
      .optional()
      .describe("Sent instead of the agent's text; its files stay."),
  })
  .meta({ id: 'DraftApproval', examples: [{ text: 'We open at nine.' }] });

const draftView = z
  .object({
    id: z.string().describe('Id of the message that it answers.'),
    accountId: z.string(),
    chatId: z.string().describe('Id of the stored chat.'),
    channelId: z.string().describe('Address of the chat, as in routes and filters.'),
    pushName: z.string().optional().describe('The name that the person chose.'),
    groupName: z.string().optional().describe('The name of the group, where it is known.'),
    question: z.string().describe('The message that it answers.'),
    createdAt: timeView,
    replies: z
      .array(
        z.object({
          text: z.string(),
          media: z
            .looseObject({ kind: z.string(), mimeType: z.string() })
            .optional()
            .describe('Its file; the text is the caption then.'),
        }),
      )
      .describe('Its parts, in the order in which they would be sent.'),
  })
  .meta({
    id: 'Draft',
    examples: [
      {
        id: '4711',
        accountId: 'default',
        chatId: '17',
        channelId: '5493777239922',
        pushName: 'Ana',
        question: 'When do you open?',
        createdAt: '2026-01-31T12:00:01.204Z',
        replies: [{ text: 'At nine.' }],
      },
    ],
  });

const decidedResponse = z.object({ success: z.literal(true), message: z.string() });

/** Answers that wait for the owner: `/api/drafts`. */
function draftsApi({ drafts, deliver, aliasesOf, config, log }: App): Endpoint[] {
  const common = { tag: 'Chats' };
  const params = { id: 'Id of the draft: that of the message that it answers.' };
  const notFound = { description: 'No such draft, or it was decided before.', schema: problemSchema };
  const decided = {
    ...common,
    method: 'post' as const,
    scopes: ['messages:send'] as const,
    honours: RESTRICTIONS,
    params,
  };
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/drafts',
      operationId: 'listDrafts',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List answers that wait for the owner, oldest first',
      description:
        'Of chats that were paused in the mode `approve`. A key that is restricted to some chats gets drafts of those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of drafts.', schema: pageResponse(draftView) } },
      handle: async ({ query: { cursor, limit, ...query }, caller }) => {
        const part = await allowedPart(caller, query, { aliasesOf, defaultAccount: config.accountId });
        const found = await drafts.list({ ...query, ...part, after: cursor, limit: limit + 1 });
        return { status: 200, object: query.channelId, json: pageOf(found, limit, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/drafts/{id}',
      operationId: 'getDraft',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Show an answer that waits for the owner',
      params,
      responses: { 200: { description: 'The draft.', schema: dataResponse(draftView) }, 404: notFound },
      handle: async ({ params, caller }) => {
        const data = await findDraft(caller, params.id);
        return { status: 200, object: data.id, json: { success: true, data } };
      },
    }),
    endpoint({
      ...decided,
      path: '/api/drafts/{id}/approve',
      operationId: 'approveDraft',
      summary: 'Send an answer that waits for the owner, as it is or with another text',
      body: approveBody,
      isBodyOptional: true,
      responses: { 200: { description: 'It is being sent.', schema: decidedResponse }, 404: notFound },
      handle: async ({ params, body: { text }, caller }) => {
        const { id, chatId } = await findDraft(caller, params.id);
        const replies = await drafts.approve(id, text);
        if (!replies) throw noSuchDraft();
        log.info({ messageId: id, chat: chatHash(chatId), isEdited: text !== undefined }, 'draft approved');
        deliver(replies);
        return { status: 200, object: id, json: { success: true, message: 'Draft approved.' } };
      },
    }),
    endpoint({
      ...decided,
      path: '/api/drafts/{id}/drop',
      operationId: 'dropDraft',
      summary: 'Drop an answer that waits for the owner',
      responses: { 200: { description: 'It is never sent.', schema: decidedResponse }, 404: notFound },
      handle: async ({ params, caller }) => {
        const { id, chatId } = await findDraft(caller, params.id);
        if (!(await drafts.drop(id))) throw noSuchDraft();
        log.info({ messageId: id, chat: chatHash(chatId) }, 'draft dropped');
        return { status: 200, object: id, json: { success: true, message: 'Draft dropped.' } };
      },
    }),
  ];

  /** @throws {HttpProblem} 404 none, 403 not for this caller */
  async function findDraft(caller: Caller, id = ''): Promise<Draft> {
    const draft = isRowId(id) ? await drafts.get(id) : undefined;
    if (!draft) throw noSuchDraft();
    await refuseOtherChat(caller, draft, aliasesOf);
    return draft;
  }
}

function noSuchDraft(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-draft'));
}

export const drafts: Feature = {
  name: 'drafts',
  liveEvents: { draft: OF_MESSAGES },
  operations: draftsApi,
};
