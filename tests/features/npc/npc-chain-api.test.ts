import { describe, expect, it } from 'vitest';
import { ChainSettingsError, ChainUnavailableError } from '../../../router/src/features/npc/npc-chain.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';
import { SPENDING } from '../../support/npc-tasks.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const get = (path: string, key = ADMIN_KEY) => api.call('GET', path, undefined, { 'x-api-key': key });

describe('/api/npc/chain', () => {
  it('shows what the chain says, how far events are stored, and what waits', async () => {
    const chain = new ScriptedNpcChain();
    api.npc.chain.current = chain;
    await api.npc.chainEvents.store('test', [], { from: undefined, to: 9n });
    const { chainId, wallet } = chain;
    const signed = async () => ({ hash: '0xh', raw: '0xr' });
    await api.npc.transactions.addOnce(
      { taskId: 't', chainId, wallet, minNonce: 3, spends: SPENDING },
      signed,
    );
    const { status, body } = await get('/api/npc/chain');
    expect([status, body.data]).toEqual([
      200,
      {
        wallet,
        chainId,
        block: '12',
        balance: '0',
        tokens: [],
        problems: ['The wallet is empty.'],
        followedTo: '9',
        waiting: [{ taskId: 't', hash: '0xh', nonce: 3 }],
      },
    ]);
  });

  it('says why it cannot', async () => {
    expect(await get('/api/npc/chain')).toMatchObject({ status: 404, body: { code: 'NO_CHAIN' } });
    const chain = new ScriptedNpcChain();
    api.npc.chain.current = chain;
    chain.failures = [
      new ChainUnavailableError({ sentence: 'It is away.' }),
      new ChainSettingsError({ sentence: 'It is another one.' }),
    ];
    for (const code of ['CHAIN_UNAVAILABLE', 'CHAIN_SETTINGS']) {
      expect(await get('/api/npc/chain')).toMatchObject({ status: 502, body: { code } });
    }
    const key = await api.addKey({ scopes: ['tasks'] });
    expect((await get('/api/npc/chain', key)).status).toBe(403);
  });

  it('lists events, newest first', async () => {
    const event = { kind: 'duel-created' as const, transactionHash: '0xh', values: { duelId: '1' } };
    const events = [1, 2, 3].map((logIndex) => ({ ...event, blockNumber: 5n, logIndex }));
    await api.npc.chainEvents.store('test', events, { from: undefined, to: 9n });
    const first = await get('/api/npc/chain/events?limit=2');
    expect(first.body).toMatchObject({
      count: 2,
      next: '2',
      data: [{ id: '3', blockNumber: '5' }, { id: '2' }],
    });
    expect((await get('/api/npc/chain/events?limit=2&cursor=2')).body.data).toMatchObject([
      { id: '1', kind: 'duel-created', values: { duelId: '1' } },
    ]);
  });
});
