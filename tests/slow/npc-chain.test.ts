import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NpcChainBed, npcChainBed, TOKENS } from '../support/npc-chain.ts';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
let chain: NpcChainBed;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  chain = await npcChainBed();
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-npc-wallet-'));
  const keyFile = join(folder, 'wallet-key');
  writeFileSync(keyFile, `${chain.key}\n`, { mode: 0o600 });
  env = { WA2AI_NPC_WALLET_KEY_FILE: keyFile };
  bed = await TestBed.start();
  await bed.startService(env);
  const settings = {
    enabled: true,
    name: 'Guard',
    chain: {
      rpcUrl: `${chain.chain.url}/v3/a-secret-of-the-server`,
      chainId: chain.chain.chainId,
      contracts: { arena: chain.arena, quest: chain.quest },
      tokens: [chain.token],
      limits: { wager: '100', reward: '100' },
      confirmations: 1,
      startBlock: 0,
    },
  };
  expect((await bed.service.api('PUT', '/api/settings/npc', settings)).status).toBe(200);
});

afterAll(async () => {
  await bed.close();
  await chain.chain.close();
  rmSync(folder, { recursive: true, force: true });
});

async function call(method: string, params: unknown): Promise<Record<string, unknown>> {
  const { body } = await bed.service.api('POST', '/rpc', { jsonrpc: '2.0', method, params, id: 1 });
  return body as Record<string, unknown>;
}

/** The id of a task that was opened. */
async function opened(type: string, params: unknown): Promise<string> {
  const { result } = await call('task.open', { type, params });
  return String((result as { taskId: string }).taskId);
}

/** The task at its end; time passes on the chain until then. */
async function ended(taskId: string): Promise<Record<string, unknown>> {
  let task: Record<string, unknown> = {};
  await expect
    .poll(
      async () => {
        await chain.chain.mine();
        task = (await call('task.status', { taskId })).result as Record<string, unknown>;
        return task.status;
      },
      { interval: 300 },
    )
    .toMatch(/completed|failed/);
  return task;
}

const balance = () => chain.read('Token', chain.token, 'balanceOf', [chain.wallet]);
const duel = () => ({ opponent: chain.opponent, wager: '10' });

describe('another agent that duels with wa2ai', () => {
  it('finds duel and quest on the card, and the operator what the wallet has', async () => {
    const { body: card } = await bed.service.api('GET', '/.well-known/agent-card');
    expect(card.capabilities).toEqual(['duel', 'quest', 'trade', 'emotion', 'memory']);
    expect((card.metadata as Record<string, unknown>).contracts).toEqual({
      arena: chain.arena,
      quest: chain.quest,
    });
    const { body } = await bed.service.api('GET', '/api/npc/chain');
    expect(body.data).toMatchObject({
      wallet: chain.wallet,
      problems: [],
      waiting: [],
      tokens: [{ balance: '1000', allowances: { arena: '1000', quest: '1000' } }],
    });
    const shown = await bed.service.api('GET', '/api/settings/npc');
    expect(JSON.stringify(shown.body)).toContain(`"${chain.chain.url}/***"`);
    expect(JSON.stringify(shown.body)).not.toContain('a-secret');
  });

  it('creates a duel and a quest, and sees the duel among the events', async () => {
    const task = await ended(await opened('duel', duel()));
    expect(task).toMatchObject({ status: 'completed', result: { success: true, duelId: '1' } });
    const quest = { questId: 'dragon', difficulty: 'easy', reward: '20', timeLimit: 60 };
    expect(await ended(await opened('quest', quest))).toMatchObject({ result: { onChainQuestId: '1' } });
    expect(await balance()).toBe(TOKENS - 30n);
    const listed = async () => {
      const { result } = await ended(await opened('duel', { action: 'list' }));
      return (result as { duels: unknown[] }).duels;
    };
    await expect
      .poll(listed)
      .toMatchObject([{ duelId: '1', creator: chain.wallet, opponent: chain.opponent }]);
  });

  it('gets the codes of the specification for missing tokens, a revert and a limit', async () => {
    const { error } = await call('task.open', { type: 'duel', params: { ...duel(), wager: '101' } });
    expect(error).toMatchObject({
      code: -32602,
      data: { field: 'wager', reason: 'wager must be at most 100.' },
    });
    await chain.write('Arena', chain.arena, 'setClosed', [true]);
    const closed = await ended(await opened('duel', duel()));
    await chain.write('Arena', chain.arena, 'setClosed', [false]);
    expect(closed).toMatchObject({ status: 'failed', error: { code: -32011 } });
    await chain.write('Token', chain.token, 'approve', [chain.arena, 1n], chain.key);
    const poor = await ended(await opened('duel', duel()));
    await chain.write('Token', chain.token, 'approve', [chain.arena, TOKENS], chain.key);
    expect(poor).toMatchObject({ status: 'failed', error: { code: -32010 } });
  });

  it('pays once when wa2ai is killed after the transaction is stored and before it is sent', async () => {
    const before = {
      balance: (await balance()) as bigint,
      duels: (await chain.read('Arena', chain.arena, 'lastDuel')) as bigint,
    };
    const raws: unknown[] = [];
    chain.chain.before = ({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return;
      raws.push(params?.[0]);
      // The server never gets it.
      return new Promise<void>(() => undefined);
    };
    const taskId = await opened('duel', duel());
    await expect.poll(() => raws.length).toBe(1);
    await bed.service.end('SIGKILL');
    chain.chain.before = ({ method, params }) => {
      if (method === 'eth_sendRawTransaction') raws.push(params?.[0]);
    };
    await bed.startService(env);
    expect(await ended(taskId)).toMatchObject({ status: 'completed', result: { success: true } });
    expect(new Set(raws).size).toBe(1);
    expect(raws.length).toBeGreaterThan(1);
    expect(await balance()).toBe(before.balance - 10n);
    expect(await chain.read('Arena', chain.arena, 'lastDuel')).toBe(before.duels + 1n);
  });

  it('never sees the key or the RPC URL in a log', async () => {
    expect(bed.service.output).not.toContain(chain.key.slice(2));
    expect(bed.service.output).not.toContain('a-secret-of-the-server');
  });
});
