import type { Request } from 'express';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import type { AuditEvent } from '../../../router/src/core/ports/audit-log.ts';
import { invalidParam, NpcError, RPC } from '../../../router/src/features/npc/json-rpc.ts';
import { NpcAudit } from '../../../router/src/features/npc/npc-server.ts';
import { appWith } from '../../support/app-with.ts';

function setup() {
  const changes: AuditEvent[] = [];
  const reads: AuditEvent[] = [];
  const audit = new NpcAudit(
    appWith({
      recorder: {
        recordChange: async (event) => void changes.push(event),
        recordRead: (event) => void reads.push(event),
      },
      clock: { now: () => 0, monotonicMs: () => 0, sleep: async () => undefined },
    }),
  );
  const request = { socket: { remoteAddress: '192.0.2.1' }, res: { locals: { requestId: 'r1' } } };
  const record = (end: { method: string; taskId?: string; error?: unknown }) =>
    audit.record(request as unknown as Request, { caller: { kind: 'admin-key' }, ...end });
  return { changes, reads, record };
}

describe('NpcAudit', () => {
  it('records an opened task as a change, and other calls as reads', async () => {
    const { changes, reads, record } = setup();
    await record({ method: 'task.open', taskId: 'task_1' });
    expect(changes).toEqual([
      {
        at: new Date(0),
        face: 'npc',
        caller: 'admin-key',
        action: 'task.open',
        object: 'task_1',
        outcome: 'ok',
        requestId: 'r1',
        address: '192.0.2.1',
      },
    ]);
    await record({ method: 'task.open', error: invalidParam('type', 'No.') });
    await record({ method: '', error: new StorageUnavailableError({ sentence: 'down' }) });
    await record({ method: 'x'.repeat(500), error: new TypeError('secret') });
    expect(reads.map(({ action, outcome }) => `${action.slice(0, 9)} ${outcome}`)).toEqual([
      'task.open RPC-32602',
      'unknown STORAGE_UNAVAILABLE',
      'xxxxxxxxx RPC-32603',
    ]);
    expect(reads[2]?.action).toHaveLength(100);
  });

  it('records repeated refusals 1, 2, 4, 8 ...', async () => {
    const { reads, record } = setup();
    for (let call = 0; call < 9; call += 1) {
      await record({ method: 'task.list', error: new NpcError(RPC.authentication) });
    }
    expect(reads).toHaveLength(4);
  });
});
