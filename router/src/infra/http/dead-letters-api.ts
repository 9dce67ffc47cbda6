import { z } from 'zod';
import type { MessageLog } from '../../core/ports/message-log.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { deadLetterView, pageAnswer, pageOf, pageQuery } from './log-schemas.ts';

const listQuery = z.strictObject(pageQuery);

/** Messages that got no answer for good, with their reasons: `GET /api/dead-letters`. */
export function deadLettersApi({ messageLog }: { messageLog: MessageLog }): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/api/dead-letters',
      tag: 'Messages',
      summary: 'List dead letters, newest first',
      query: listQuery,
      answers: { 200: { description: 'A page of dead letters.', schema: pageAnswer(deadLetterView) } },
      handle: async ({ query }) => ({
        status: 200,
        json: pageOf(await messageLog.deadLetters(query), query.limit),
      }),
    }),
  ];
}
