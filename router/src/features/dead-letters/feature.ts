import { z } from 'zod';
import { type Caller, RESTRICTIONS } from '../../core/access/caller.ts';
import { chatHash } from '../../core/chat-id.ts';
import { OF_MESSAGES } from '../../core/live/live-event.ts';
import { say } from '../../core/phrases.ts';
import type { DeadLetterRow } from '../../core/ports/message-log.ts';
import type { App, Feature } from '../../feature.ts';
import {
  type AllowedPart,
  allowedPart,
  asListed,
  type Endpoint,
  endpoint,
  refuseAll,
  refuseOtherChat,
  withoutOtherRoutes,
} from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  dataResponse,
  isRowId,
  listResponse,
  pageOf,
  pageResponse,
  rowIdField,
  searchedChatField,
  timeQuery,
  warningsField,
} from '../../infra/operations/fields.ts';
import { deadLetterGroupView, deadLetterView, logQuery } from '../../infra/operations/log-schemas.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import type { DeadLetterFilter, Replay } from './dead-letters.ts';

const reasonField = z.string().min(1).max(200).describe('Only dead letters with exactly this reason.');

const listQuery = z.strictObject({
  ...logQuery,
  state: z.enum(['open', 'replayed', 'closed']).optional().describe('Default: all.'),
  reason: reasonField.optional(),
});

const groupsQuery = z.strictObject({
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  channelId: searchedChatField.optional().describe('Only this chat.'),
  state: z.enum(['open', 'replayed', 'closed']).default('open').describe('Default: open.'),
});

const replayBody = z
  .strictObject({
    accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
    channelId: searchedChatField.optional().describe('Only this chat.'),
    reason: reasonField.optional(),
    before: rowIdField.optional().describe('Only dead letters with a smaller id.'),
    cursor: rowIdField.optional().describe('Continues after the call before: its `next`.'),
    limit: z.int().min(1).max(1_000).optional().describe('Maximum number. Default: 100.'),
  })
  .meta({ id: 'DeadLettersToReplay', examples: [{ reason: 'AGENT_UNAVAILABLE', limit: 500 }] });

const closeBody = z
  .strictObject({
    accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
    channelId: searchedChatField.optional().describe('Only this chat.'),
    reason: reasonField.optional(),
    until: timeQuery
      .optional()
      .describe('Only dead letters that failed last at this time or before: those that a person has seen.'),
  })
  .meta({
    id: 'DeadLettersToClose',
    examples: [{ reason: 'AGENT_UNAVAILABLE', until: '2026-01-31T12:00:01.204Z' }],
  });

/** Messages and replies that were given up, with their reasons: read, replay, close. `/api/dead-letters`. */
function deadLettersApi(app: App): Endpoint[] {
  const { messageLog, aliasesOf, config, log } = app;
  const common = { tag: 'Dead letters' };
  const params = { id: 'Id of the dead letter.' };
  const notFound = { description: 'No such dead letter.', schema: problemSchema };
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/dead-letters',
      operationId: 'listDeadLetters',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List dead letters, newest first',
      query: listQuery,
      responses: { 200: { description: 'A page of dead letters.', schema: pageResponse(deadLetterView) } },
      handle: async ({ query: { cursor, limit, trace, ...filter }, caller }) => {
        const page = { ...filter, ...(await partOf(caller, filter)), before: cursor, limit: limit + 1 };
        const rows = (await messageLog.deadLetters(page)).map((row) => asListed(caller, row, trace));
        return { status: 200, json: pageOf(rows, limit, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/dead-letters/groups',
      operationId: 'listDeadLetterGroups',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Count dead letters by reason, the most frequent first',
      description: 'A key that is restricted to some chats gets the dead letters of those only.',
      query: groupsQuery,
      responses: { 200: { description: 'The groups.', schema: listResponse(deadLetterGroupView) } },
      handle: async ({ query, caller }) => {
        const data = await messageLog.deadLetterGroups({ ...query, ...(await partOf(caller, query)) });
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/replay',
      operationId: 'replayDeadLetters',
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Replay the open dead letters of a filter, oldest first',
      body: replayBody,
      oldNames: { after: 'cursor' },
      description:
        'To replay all, call again with `next` as `cursor` until there is no `next`. This reaches each dead letter once, also when some fail again meanwhile.',
      isBodyOptional: true,
      responses: {
        202: {
          description: 'Replayed. `GET /api/messages` shows the results.',
          schema: z.object({
            success: z.literal(true),
            replayed: z.int().describe('Number of dead letters replayed.'),
            hasMore: z.boolean().describe('There are more than the limit.'),
            next: z
              .string()
              .optional()
              .describe('Present when there are more: send it as `cursor` to replay the next ones.'),
            warnings: warningsField,
          }),
        },
      },
      handle: async ({ body: { limit = 100, cursor, ...filter }, caller }) => {
        refuseAll(caller, filter);
        await partOf(caller, filter);
        const result = await replayDeadLetters(app, { ...filter, after: cursor }, limit);
        log.info({ ...result, reason: filter.reason }, 'dead letters replayed by an admin');
        return { status: 202, json: { success: true, ...result } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/close',
      operationId: 'closeDeadLetters',
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Close the open dead letters of a filter: leave them as they are',
      body: closeBody,
      isBodyOptional: true,
      responses: {
        200: {
          description: 'Closed.',
          schema: z.object({
            success: z.literal(true),
            closed: z.int().describe('Number of dead letters closed.'),
          }),
        },
      },
      handle: async ({ body, caller }) => {
        refuseAll(caller, body);
        await partOf(caller, body);
        const closed = await app.deadLetters.closeAll(body);
        log.info({ closed, reason: body.reason }, 'dead letters closed by an admin');
        return { status: 200, json: { success: true, closed } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/dead-letters/{id}',
      operationId: 'getDeadLetter',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Show a dead letter with its text and person',
      params,
      responses: {
        200: { description: 'The dead letter.', schema: dataResponse(deadLetterView) },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, caller }) => {
        const letter = await found(id);
        await refuseOtherChat(caller, letter, aliasesOf);
        return { status: 200, json: { success: true, data: withoutOtherRoutes(caller, letter) } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/{id}/replay',
      operationId: 'replayDeadLetter',
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Replay a dead letter',
      description:
        'A message is answered again at the end of its chat, by the route table as it is now. A reply is sent again under its WhatsApp id. If it fails again, the same dead letter is updated and open again.',
      params,
      responses: {
        202: {
          description: 'Replayed. `GET /api/messages/{id}` shows the result.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        404: notFound,
        409: { description: 'It was replayed before and has not failed again.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller }) => {
        const letter = isRowId(id) ? await messageLog.deadLetter(id) : undefined;
        if (letter) await refuseOtherChat(caller, letter, aliasesOf);
        const outcome = isRowId(id) ? await replayDeadLetter(app, id) : 'missing';
        if (outcome === 'missing') throw noSuchLetter();
        if (outcome === 'known') throw replayedBefore();
        log.info(fieldsOf(id, letter), 'dead letter replayed by an admin');
        return { status: 202, json: { success: true, message: 'Replayed.' } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/dead-letters/{id}/close',
      operationId: 'closeDeadLetter',
      scopes: ['messages:read', 'messages:send'],
      honours: RESTRICTIONS,
      summary: 'Close an open dead letter: leave it as it is',
      description:
        'A closed dead letter no longer counts as open and is not part of a replay by filter. It can still be replayed by its id. Closing twice changes nothing.',
      params,
      responses: {
        200: { description: 'The dead letter as it is now.', schema: changedResponse(deadLetterView) },
        404: notFound,
        409: { description: 'It was replayed, so it is not open.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller }) => {
        const before = isRowId(id) ? await messageLog.deadLetter(id) : undefined;
        if (before) await refuseOtherChat(caller, before, aliasesOf);
        const outcome = isRowId(id) ? await app.deadLetters.close(id) : 'missing';
        if (outcome === 'missing') throw noSuchLetter();
        if (outcome === 'replayed') throw replayedBefore();
        const letter = await found(id);
        log.info(fieldsOf(id, letter), 'dead letter closed by an admin');
        return {
          status: 200,
          json: { success: true, message: 'Closed.', data: withoutOtherRoutes(caller, letter) },
        };
      },
    }),
  ];

  function partOf(caller: Caller, filter: { accountId?: string; channelId?: string }): Promise<AllowedPart> {
    return allowedPart(caller, filter, { aliasesOf, defaultAccount: config.accountId });
  }

  async function found(id: string): Promise<DeadLetterRow> {
    const letter = isRowId(id) ? await messageLog.deadLetter(id) : undefined;
    if (!letter) throw noSuchLetter();
    return letter;
  }
}

/** Of a log line. */
function fieldsOf(deadLetterId: string, letter: DeadLetterRow | undefined) {
  if (!letter) return { deadLetterId };
  const { outboxId, messageId = outboxId, accountId, chatId } = letter;
  return { deadLetterId, messageId, outboxId, accountId, chat: chatHash(chatId) };
}

function noSuchLetter(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-dead-letter'));
}

function replayedBefore(): HttpProblem {
  return new HttpProblem(409, 'ALREADY_REPLAYED', say('problem.already-replayed'));
}

export const deadLetters: Feature = {
  name: 'dead-letters',
  tags: { 'Dead letters': 'Messages and replies that were given up: read, replay, close.' },
  liveEvents: { 'dead-letter': OF_MESSAGES },
  operations: deadLettersApi,
};

/**
 * Replays a dead letter: its message is routed by the table as it is now, or its reply is sent again.
 * @throws {StorageUnavailableError} nothing was changed
 */
export async function replayDeadLetter(
  { deadLetters, workers, deliver }: App,
  id: string,
): Promise<Replay['outcome']> {
  const replay = await deadLetters.replay(id, workers.nodeForNextChat());
  if ('reply' in replay) deliver([replay.reply]);
  else if (replay.outcome === 'replayed') workers.serve(replay.worker, !replay.isNewWorker);
  return replay.outcome;
}

/** The result of one call of `replayDeadLetters`; `next`: there are more letters than `limit`, after this id. */
interface BulkReplay {
  replayed: number;
  hasMore: boolean;
  next?: string;
}

/**
 * Replays the open letters of a filter, oldest first, so that messages of one chat keep their order. Calls with `next` as
 * `cursor` reach each letter at most once: one that fails again meanwhile keeps its id, which is not after `next`.
 * @throws {StorageUnavailableError} the letters before the failure were replayed; call again for the rest
 */
async function replayDeadLetters(app: App, filter: DeadLetterFilter, limit: number): Promise<BulkReplay> {
  const ids = await app.deadLetters.open(filter, limit + 1);
  const hasMore = ids.length > limit;
  let replayed = 0;
  for (const id of ids.slice(0, limit)) {
    if ((await replayDeadLetter(app, id)) === 'replayed') replayed += 1;
  }
  return { replayed, hasMore, ...(hasMore && { next: ids[limit - 1] }) };
}
