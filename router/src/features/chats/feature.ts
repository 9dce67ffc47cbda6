import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { answerFilesField, fileField, fileLinkField, filesOfAnswer } from '../../core/delivery/agent-file.ts';
import { AgentProtocolError } from '../../core/errors.ts';
import { OF_MESSAGES } from '../../core/live/live-event.ts';
import type { AgentResponse } from '../../core/models.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { ReplyTokenState } from '../../core/ports/pending-answers.ts';
import type { App, Feature } from '../../feature.ts';
import { type Endpoint, endpoint, refuseOtherChat } from '../../infra/operations/endpoint.ts';
import { dataResponse, isRowId } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { fileResponse } from '../../infra/operations/response.ts';
import { chatsApi } from './chats-api.ts';
import { messagesApi } from './messages-api.ts';

export const chats: Feature = {
  name: 'chats',
  tags: {
    Messages: 'Messages received and sent, and sending.',
    Chats: 'Chats with people and groups: list, read, pause, resume.',
  },
  liveEvents: {
    message: OF_MESSAGES,
    turn: OF_MESSAGES,
    reply: OF_MESSAGES,
    delivery: OF_MESSAGES,
    chat: OF_MESSAGES,
  },
  operations: (app) => [...messagesApi(app), ...mediaApi(app), ...chatsApi(app), ...repliesApi(app)],
};

/** Files of people: for agents by a link, which is the secret, and of stored messages for programs with a key. */
function mediaApi(app: App): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/api/media/{token}',
      operationId: 'getMedia',
      tag: 'Messages',
      summary: 'Load a file of a person by its link',
      description: 'For agents that received a link with a message. A link works for an hour. Needs no key.',
      scopes: 'public',
      params: { token: 'The last part of the link.' },
      responses: {
        200: {
          description: 'The bytes of the file, with the type that its sender named.',
          contentType: 'application/octet-stream',
          schema: z.string().meta({ format: 'binary' }),
        },
        404: { description: 'No such link.', schema: problemSchema },
        410: { description: 'The link has expired.', schema: problemSchema },
      },
      handle: async ({ params: { token = '' }, signal }) => {
        const loaded = await app.loadLinked(token, signal);
        if (loaded === 'unknown') throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-link'));
        if (loaded === 'expired') throw new HttpProblem(410, 'LINK_EXPIRED', say('problem.link-expired'));
        const { file, bytes } = loaded;
        return fileResponse(bytes, file);
      },
    }),
    endpoint({
      method: 'get',
      path: '/api/messages/{id}/file',
      operationId: 'getMessageFile',
      isAudited: true,
      tag: 'Messages',
      summary: 'Load the file of a message',
      description:
        'While the message has `hasFile`. The file of a message received is stored when it is first loaded (WA2AI_MEDIA_RECEIVED); before, it is loaded from WhatsApp, which deletes files after some weeks.',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      params: { id: 'Id of a message received or sent.' },
      responses: {
        200: {
          description: 'The bytes of the file, with the type that its sender named.',
          contentType: 'application/octet-stream',
          schema: z.string().meta({ format: 'binary' }),
        },
        404: { description: 'No such message, or it has no file that is stored.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller, signal }) => {
        const row = isRowId(id)
          ? ((await app.messageLog.message(id)) ?? (await app.messageLog.sentMessage(id)))
          : undefined;
        if (!row) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-message'));
        await refuseOtherChat(caller, row, app.aliasesOf);
        const { accountId, media, hasFile, direction } = row;
        const load = () =>
          direction === 'incoming'
            ? app.loadReceived({ messageId: id, accountId }, signal)
            : app.sentFile(id);
        const bytes = media && hasFile ? await load() : undefined;
        if (!media || !bytes) {
          throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-message-file'));
        }
        return fileResponse(bytes, media);
      },
    }),
  ];
}

/** Largest body: a file of 10 MB in base64, and a text. */
const MAX_BYTES = 15 * 1024 * 1024;
const TOKEN = /^[\w-]{43}$/;

const mediaField = z
  .strictObject({
    mimeType: fileField.shape.mimeType.optional(),
    data: fileField.shape.data.optional(),
    url: fileLinkField.shape.url.optional(),
    fileName: fileField.shape.fileName,
  })
  .superRefine(({ mimeType, data, url }, context) => {
    const add = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message });
    if (data !== undefined && url !== undefined) add('url', PHRASES['field.not-with-data']);
    if (data === undefined && url === undefined) add('data', PHRASES['field.missing-data-or-url']);
    if (data !== undefined && mimeType === undefined) add('mimeType', PHRASES['field.missing']);
  });

const replyBody = z
  .strictObject({
    text: z.string().max(65_536).optional().describe('With a picture or a document, its caption.'),
    media: mediaField.optional().describe('A file to send: its bytes in `data`, or its `url`.'),
  })
  .refine(({ text = '', media }) => text.trim() !== '' || media !== undefined, {
    path: ['text'],
    error: PHRASES['field.missing-text-or-media'],
  })
  .meta({ id: 'LateReply', examples: [{ text: 'Your table is booked.' }] });

const REFUSALS: Record<Exclude<ReplyTokenState, 'valid'>, () => HttpProblem> = {
  unknown: () => new HttpProblem(404, 'REPLY_TOKEN_UNKNOWN', say('problem.no-reply-token')),
  used: () => new HttpProblem(409, 'REPLY_TOKEN_USED', say('problem.reply-token-used')),
  expired: () => new HttpProblem(410, 'REPLY_TOKEN_EXPIRED', say('problem.reply-token-expired')),
};

/** Late answers of agents: `POST /api/replies/{token}`. The token is the secret, so no key is needed. */
function repliesApi({ replyTokens, answerLater }: App): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/api/replies/{token}',
      operationId: 'replyLater',
      tag: 'Messages',
      summary: 'Answer a message later',
      description:
        'For agents that received a reply token with a message. A message is answered this way once, within 24 hours. Needs no key.',
      scopes: 'public',
      params: { token: 'The reply token of the message.' },
      body: replyBody,
      maxBodyBytes: MAX_BYTES,
      admit: async ({ token = '' }) => {
        const state = TOKEN.test(token) ? await replyTokens.stateOf(token) : 'unknown';
        if (state !== 'valid') throw REFUSALS[state]();
      },
      responses: {
        202: {
          description: 'Stored. The replies are sent in the order of the chat.',
          schema: dataResponse(
            z.object({
              replies: z
                .array(z.string())
                .describe('Ids of the messages to send, for `GET /api/messages/{id}`.'),
            }),
          ),
        },
        404: { description: 'No such token.', schema: problemSchema },
        409: { description: 'The message was answered.', schema: problemSchema },
        410: { description: 'The token has expired.', schema: problemSchema },
        413: { description: 'The body is larger than 15 MB.', schema: problemSchema },
      },
      handle: async ({ params: { token = '' }, body: { text, media } }) => {
        const files = filesOf(media);
        const result = await answerLater(token, { ...(text !== undefined && { response: text }), ...files });
        if (result.outcome !== 'stored') throw REFUSALS[result.outcome]();
        return { status: 202, json: { success: true, data: { replies: result.outboxIds } } };
      },
    }),
  ];
}

/** @throws {HttpProblem} the file is too large, or empty */
function filesOf(media: z.output<typeof mediaField> | undefined): Pick<AgentResponse, 'files' | 'fileLinks'> {
  try {
    const found = filesOfAnswer(answerFilesField.optional().parse(media));
    if (found.files?.every(({ bytes }) => bytes.length > 0) ?? true) return found;
  } catch (error) {
    if (!(error instanceof AgentProtocolError)) throw error;
    throw invalid('body', [{ field: 'media.data', message: PHRASES['field.some-megabytes'] }]);
  }
  throw invalid('body', [{ field: 'media.data', message: PHRASES['field.bytes'] }]);
}
