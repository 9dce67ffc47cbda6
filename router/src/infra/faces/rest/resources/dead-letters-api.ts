import { z } from 'zod';
import type { DeadLetterFilter, Replay } from '../../../../core/ports/dead-letters.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { MessageLog } from '../../../../core/ports/message-log.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { accountIdField, chatField, isRowId, rowIdField } from '../fields.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import { deadLetterView, pageOf, pageQuery, pageResponse } from './log-schemas.ts';

export interface DeadLettersApiDeps {
  messageLog: MessageLog;
  replayDeadLetter(id: string): Promise<Replay['outcome']>;
  /** Replays at most `limit` letters of a filter, oldest first. */
  replayDeadLetters(filter: DeadLetterFilter, limit: number): Promise<{ replayed: number; hasMore: boolean }>;
  log: Logger;
}

const reasonField = z.string().min(1).max(200).describe('Only letters of exactly this reason.');

const listQuery = z.strictObject({
  ...pageQuery,
  state: z.enum(['open', 'replayed']).optional().describe('`open`: not replayed yet. Default: both.'),
  reason: reasonField.optional(),
});

const replayBody = z
  .strictObject({
    accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
    channelId: chatField.optional().describe('Only this chat.'),
    reason: reasonField.optional(),
    before: rowIdField.optional().describe('Only letters older than the one with this id.'),
    limit: z.int().min(1).max(1_000).optional().describe('At most this many. Default: 100.'),
  })
  .meta({ id: 'DeadLettersToReplay' });

/** Messages that got no answer for good, with their reasons, and another try for them: `/api/dead-letters`. */
export function deadLettersApi(deps: DeadLettersApiDeps): Endpoint[] {
  const { messageLog, log } = deps;
  const common = { tag: 'Messages' as const };
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/dead-letters',
      operationId: 'listDeadLetters',
      summary: 'List dead letters, newest first',
      query: listQuery,
      responses: { 200: { description: 'A page of dead letters.', schema: pageResponse(deadLetterView) } },
      handle: async ({ query }) => ({
        status: 200,
        json: pageOf(await messageLog.deadLetters(query), query.limit),
      }),
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/replay',
      operationId: 'replayDeadLetters',
      summary: 'Try the open dead letters of a filter again, oldest first',
      body: replayBody,
      isBodyOptional: true,
      responses: {
        202: {
          description: 'Taken up; their messages tell what becomes of them.',
          schema: z.object({
            success: z.literal(true),
            replayed: z.int().describe('How many were taken up.'),
            hasMore: z.boolean().describe('The limit left more of them: call again.'),
          }),
        },
      },
      handle: async ({ body: { limit = 100, ...filter } }) => {
        const result = await deps.replayDeadLetters(filter, limit);
        log.info({ ...result, reason: filter.reason }, 'dead letters replayed by an admin');
        return { status: 202, json: { success: true, ...result } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/{id}/replay',
      operationId: 'replayDeadLetter',
      summary:
        'Try a dead letter again: its message at the end of its chat, its reply under its old WhatsApp id',
      responses: {
        202: {
          description: 'Taken up; its message tells what becomes of it.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        404: { description: 'No such dead letter.', schema: problemSchema },
        409: { description: 'It was replayed before, and has not died again.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' } }) => {
        const outcome = isRowId(id) ? await deps.replayDeadLetter(id) : 'missing';
        if (outcome === 'missing') {
          throw new HttpProblem(404, 'NOT_FOUND', 'There is no dead letter with this id.');
        }
        if (outcome === 'known') {
          const sentence = 'This dead letter was replayed before, and what it tells of has not died again.';
          throw new HttpProblem(409, 'ALREADY_REPLAYED', sentence);
        }
        log.info({ deadLetterId: id }, 'dead letter replayed by an admin');
        return { status: 202, json: { success: true, message: 'Taken up again.' } };
      },
    }),
  ];
}
