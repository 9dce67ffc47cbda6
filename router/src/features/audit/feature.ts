import sql from 'sql-template-tag';
import type { Feature } from '../../feature.ts';
import { auditApi } from './audit-api.ts';

export const audit: Feature = {
  name: 'audit',
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
