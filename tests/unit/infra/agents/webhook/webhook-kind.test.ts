import { describe, expect, it } from 'vitest';
import { webhookKind } from '../../../../../router/src/infra/agents/webhook/webhook-kind.ts';

describe('webhookKind', () => {
  it('checks the template of the body', async () => {
    expect(await webhookKind.check?.({})).toEqual([]);
    expect(await webhookKind.check?.({ body: { a: '{{text}}' } })).toEqual([]);
    expect(await webhookKind.check?.({ body: { a: '{{txet}}' } })).toMatchObject([{ field: 'body' }]);
  });
});
