import sql from 'sql-template-tag';
import { z } from 'zod';
import type { App, Feature } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  dataResponse,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeQuery,
  timeView,
} from '../../infra/operations/fields.ts';

const CALLERS = ['admin-key', 'key', 'session', 'loopback', 'local-socket', 'stranger', 'person'] as const;

const callerField = z
  .enum(CALLERS)
  .describe(
    '`admin-key`: WA2AI_API_KEY. `key`: a key of the API. `session`: a browser that is signed in, of `user` or of the admin key. `loopback`: this machine, without a key. `stranger`: a wrong key, or none.',
  );

const exactly = (what: string) =>
  z.string().min(1).max(200).optional().describe(`Only entries with exactly this ${what}.`);

const listQuery = z.strictObject({
  since: timeQuery.optional().describe('Only entries from this time on.'),
  until: timeQuery.optional().describe('Only entries before this time.'),
  caller: callerField.optional(),
  keyId: exactly('key id'),
  user: exactly('name of a user'),
  action: exactly('action, such as `createRoute`'),
  object: exactly('object'),
  outcome: exactly('outcome, such as `ok` or `SCOPE_MISSING`'),
  requestId: exactly('request id'),
  address: exactly('address'),
  ...pageQuery(rowIdField, 50),
});

const hashField = z.string().describe('SHA-256, in hexadecimal digits.');

/** An entry of the audit log. */
export const auditEntryView = z
  .object({
    seq: z.string().describe('Position in the log, without gaps.'),
    at: timeView,
    face: z.string().describe('The protocol of the call: `rest`.'),
    caller: callerField,
    keyId: z.string().optional().describe('Id of the key of the API.'),
    user: z.string().optional().describe('Name of the user of the session.'),
    action: z.string().describe('The operation, by its name in /openapi.json.'),
    object: z.string().optional().describe('Id of what was read, created or changed.'),
    outcome: z.string().describe('`ok`, or the code of the error.'),
    requestId: z.string().describe('As in the header `X-Request-Id` of the response.'),
    address: z.string().optional().describe('Of the caller, or of the proxy before it.'),
    hash: hashField.describe('Hash of this entry and of the hash of the entry before it.'),
  })
  .meta({
    id: 'AuditEntry',
    examples: [
      {
        seq: '4711',
        at: '2026-01-31T12:00:00.000Z',
        face: 'rest',
        caller: 'key',
        keyId: '3f9a2c1b7d4e',
        action: 'sendMessage',
        object: '815',
        outcome: 'ok',
        requestId: '0f0e3f0a-5f0c-4c55-9d4b-2f6d3a9b1c77',
        address: '10.0.0.7',
        hash: 'b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78',
      },
    ],
  });

const markView = z.object({ seq: z.string(), hash: hashField });

const chainView = z.object({
  head: markView.describe('The last entry. Its position is 0 while there was none.'),
  anchor: markView.describe('The last entry that retention removed; the first entry is chained to it.'),
});

/** Who called what: `/api/audit`. */
export function auditApi({ auditLog }: App): Endpoint[] {
  const common = {
    tag: 'Audit',
    method: 'get' as const,
    scopes: ['admin'] as const,
    honours: [] as const,
  };
  return [
    endpoint({
      ...common,
      path: '/api/audit',
      operationId: 'listAuditEntries',
      isAudited: true,
      summary: 'List entries of the audit log, newest first',
      query: listQuery,
      responses: { 200: { description: 'A page of entries.', schema: pageResponse(auditEntryView) } },
      handle: async ({ query: { cursor, limit, ...filter } }) => {
        const before = cursor === undefined ? undefined : BigInt(cursor);
        const found = await auditLog.entries({ ...filter, before, limit: limit + 1 });
        const entries = found.map((entry) => shown(auditEntryView, entry));
        return { status: 200, json: pageOf(entries, limit, ({ seq }) => seq) };
      },
    }),
    endpoint({
      ...common,
      path: '/api/audit/chain',
      operationId: 'getAuditChain',
      summary: 'Show both ends of the audit log, with which `wa2ai audit verify` checks it',
      responses: { 200: { description: 'The ends.', schema: dataResponse(chainView) } },
      handle: async () => ({
        status: 200,
        json: { success: true, data: shown(chainView, await auditLog.chain()) },
      }),
    }),
  ];
}

export const audit: Feature = {
  name: 'audit',
  tags: { Audit: 'Who called what.' },
  operations: auditApi,
  retention: {
    batches: {
      // Only from the start of the chain on, up to the first entry that is kept: clocks of nodes may differ.
      audit: (before, batch) => sql`
        DELETE FROM audit_entry WHERE seq <= (
          SELECT max(seq) FROM (
            SELECT seq, bool_and(at < ${before}::timestamptz) OVER (ORDER BY seq) AS is_old
            FROM (SELECT seq, at FROM audit_entry ORDER BY seq LIMIT ${batch}) AS oldest) AS start
          WHERE is_old) RETURNING seq, hash`,
    },
    with: {
      // The chain of the rest begins at the last entry that is gone.
      audit: [
        () => sql`
          UPDATE audit_chain SET anchor_seq = last.seq, anchor_hash = last.hash
          FROM (SELECT seq, hash FROM gone ORDER BY seq DESC LIMIT 1) AS last WHERE id = 1`,
      ],
    },
  },
};
