import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/admission.ts';
import { say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { isRowId } from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { fileResponse } from '../../infra/operations/response.ts';
import { refuseOtherChat } from '../../infra/operations/restrictions.ts';

/** Files of people: for agents by a link, which is the secret, and of stored messages for programs with a key. */
export function mediaApi(app: App): Endpoint[] {
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
