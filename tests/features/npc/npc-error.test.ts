import { describe, expect, it } from 'vitest';
import { invalidParam, NpcError, RPC } from '../../../router/src/features/npc/json-rpc.ts';

describe('NpcError', () => {
  it('has the codes and messages of the specification', () => {
    const shown = Object.values(RPC).map((code) => new NpcError(code).body);
    expect(shown.map(({ code, message }) => `${code} ${message}`)).toEqual([
      '-32700 Parse error',
      '-32600 Invalid Request',
      '-32601 Method not found',
      '-32602 Invalid params',
      '-32603 Internal error',
      '-32001 Authentication failed',
      '-32002 Rate limit exceeded',
      '-32010 Insufficient funds',
      '-32011 Contract execution failed',
    ]);
  });

  it('names the field and the reason', () => {
    expect(invalidParam('opponent', 'No address.').body).toEqual({
      code: -32602,
      message: 'Invalid params',
      data: { field: 'opponent', reason: 'No address.' },
    });
  });
});
