import { z } from 'zod';
import { say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import type { LogRing } from '../../infra/logging/log-ring.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField, listResponse, timeView, wholeNumberQuery } from '../../infra/operations/fields.ts';
import { streamFrames } from '../../infra/operations/log-schemas.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
/** Streams of one node. */
const MAX_STREAMS = 20;
/** Of one write of a stream. */
const MAX_FRAME_CHARS = 65_536;

const logsQuery = z.strictObject({
  level: z
    .enum(LEVELS)
    .optional()
    .describe('Only lines of this level or a more severe one. Lines below WA2AI_LOG_LEVEL are never there.'),
  accountId: accountIdField.optional().describe('Only lines about this WhatsApp account. Default: all.'),
  limit: wholeNumberQuery(1, 2_000).prefault('200').describe('How many of the last lines, 1 to 2000.'),
  follow: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .prefault('false')
    .describe('`true`: a stream of server-sent events, which goes on with new lines.'),
});

const lineView = z
  .looseObject({
    time: timeView,
    level: z.enum(LEVELS),
    msg: z.string().describe('What happened, always in the same words.'),
    mod: z.string().optional().describe('Part of wa2ai.'),
    accountId: z.string().optional(),
  })
  .meta({
    id: 'LogLine',
    examples: [
      {
        level: 'info',
        time: '2026-01-31T12:00:00.310Z',
        accountId: 'default',
        messageId: '4711',
        msg: 'message received',
      },
    ],
  });

type LogLine = z.output<typeof lineView>;
type LogsQuery = z.output<typeof logsQuery>;
type LogFilter = Pick<LogsQuery, 'level' | 'accountId'>;

/** The newest log lines of this node: `/api/logs`. */
export function logsApi({ nodeLog, keyWatch }: App): Endpoint[] {
  const { ring, nodeId, clock } = nodeLog;
  let streams = 0;
  return [
    endpoint({
      method: 'get',
      path: '/api/logs',
      operationId: 'readLogs',
      isAudited: true,
      tag: 'Nodes',
      scopes: ['admin'],
      honours: [],
      summary: 'Read the newest log lines of this node',
      description:
        'The last 2,000 lines at most, since the start of the process. Each node has its own. As a stream, each line is an event `line` with an id; a client that names its last id in `Last-Event-ID` gets what it missed, and the event `lost` if lines are missing.',
      query: logsQuery,
      headers: { 'last-event-id': 'The last line that the client has; browsers send it by themselves.' },
      responses: {
        200: {
          description: 'The lines, oldest first.',
          schema: listResponse(lineView).extend({ node: z.string().describe('Id of this node.') }),
        },
        429: { description: `This node has ${MAX_STREAMS} streams of its log.`, schema: problemSchema },
      },
      handle: ({ query, caller, header }) => {
        if (!query.follow) {
          const data = lastLines(ring, query).map(({ line }) => line);
          return { status: 200, json: { success: true, data, count: data.length, node: nodeId } };
        }
        if (streams >= MAX_STREAMS) {
          throw new HttpProblem(429, 'TOO_MANY_STREAMS', say('problem.log-streams', { streams }));
        }
        const lastId = header('last-event-id');
        return {
          status: 200,
          stream: (response) => {
            streams += 1;
            const gone = new AbortController();
            const unwatch = keyWatch.watch(caller, () => gone.abort());
            const frames = framesOf(ring, query, lastId, gone.signal);
            void streamFrames(response, frames, { clock, gone }).finally(() => {
              unwatch();
              streams -= 1;
            });
          },
        };
      },
    }),
  ];
}

/** The last lines that fit, oldest first. */
function lastLines(ring: LogRing, { limit, ...filter }: LogFilter & { limit: number }) {
  const found: Array<{ position: number; line: LogLine }> = [];
  for (let position = ring.last; position >= ring.first && found.length < limit; position -= 1) {
    const line = wanted(ring.at(position)?.text, filter);
    if (line) found.push({ position, line });
  }
  return found.reverse();
}

/** The lines of a stream as server-sent events, many in one write. */
async function* framesOf(
  ring: LogRing,
  query: LogsQuery,
  lastId: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const known = lastId === undefined ? undefined : positionOf(ring, lastId);
  const [first] = lastId === undefined ? lastLines(ring, query) : [];
  // Without an id: the last lines, or what comes from now on. With one of another process: all lines of this one.
  let position = known ?? (lastId === undefined ? (first?.position ?? ring.last + 1) - 1 : ring.first - 1);
  if (lastId !== undefined && known === undefined) yield 'event: lost\ndata: {}\n\n';
  while (!signal.aborted && !ring.isStopped) {
    if (position < ring.first - 1) {
      position = ring.first - 1;
      yield 'event: lost\ndata: {}\n\n';
    }
    let text = '';
    for (; position < ring.last && text.length < MAX_FRAME_CHARS; position += 1) {
      const line = wanted(ring.at(position + 1)?.text, query);
      if (line) text += `id: ${ring.run}-${position + 1}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`;
    }
    if (text !== '') yield text;
    await ring.after(position, signal);
  }
}

/** The position of an id; undefined: it is of another process. */
function positionOf(ring: LogRing, id: string): number | undefined {
  const [, run, digits] = /^(\w+)-(\d{1,15})$/.exec(id) ?? [];
  return run === ring.run ? Math.min(Number(digits), ring.last) : undefined;
}

/** The line if it fits; undefined for one that is no JSON. */
function wanted(text: string | undefined, { level, accountId }: LogFilter): LogLine | undefined {
  if (text === undefined) return undefined;
  let line: LogLine;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (level !== undefined && LEVELS.indexOf(line.level) < LEVELS.indexOf(level)) return undefined;
  return accountId === undefined || line.accountId === accountId ? line : undefined;
}
