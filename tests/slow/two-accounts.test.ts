import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { newNumber, type TestBed, withoutContactLimit } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

const EACH = 30;

interface Row {
  text: string;
  state: string;
  reason?: string;
}

let bed: TestBed;
let nodes: Nodes;
let service: Wa2aiProcess;
/** The phones of the accounts "default" and "sales", both owned by the one node. */
let phones: Record<string, Phone>;

beforeEach(async () => {
  ({ bed, nodes } = await startNodeCluster(['n1']));
  service = nodes.node('n1');
  await withoutContactLimit(service);
  const sales = createPhone(bed.emulator, { phone: newNumber('349') });
  phones = { default: bed.phone, sales };
  expect((await service.api('POST', '/api/accounts', { id: 'sales' })).status).toBe(201);
  for (const [accountId, phone] of Object.entries(phones)) await nodes.pair(phone, accountId);
});

afterEach(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

async function send(accountId: string, text: string): Promise<void> {
  const other = phones[accountId === 'default' ? 'sales' : 'default'];
  const { status } = await service.api('POST', '/api/messages', { accountId, channelId: other?.pn, text });
  expect(status).toBe(202);
}

/** The messages that the account received, oldest first. */
async function received(accountId: string): Promise<Row[]> {
  const { body } = await service.api('GET', `/api/messages?accountId=${accountId}&limit=100`);
  return (body.data as Row[]).reverse();
}

describe('Two accounts of one node', () => {
  it('receive in order everything that they write to each other at the same time', async () => {
    const texts = Array.from({ length: EACH }, (_, index) => `line ${index + 1}`);
    // Messages written while neither is connected are delivered in one burst, in both directions.
    bed.emulator.faults.refusedUpgrades = Number.POSITIVE_INFINITY;
    bed.emulator.drop();
    for (const text of texts) await Promise.all([send('default', text), send('sales', text)]);
    bed.emulator.faults.refusedUpgrades = 0;
    for (const accountId of ['default', 'sales']) {
      const all = async () => {
        const rows = await received(accountId);
        const ended = rows.filter(({ state }) => state !== 'received');
        return ended.length >= EACH ? rows : undefined;
      };
      const rows = await until(`all lines at ${accountId}`, all, 60_000);
      expect(rows.map(({ text, reason }) => `${text} (${reason})`)).toEqual(
        texts.map((text) => `${text} (no-route)`),
      );
    }
  });

  it('stop answering each other after some turns, with a recorded reason', { timeout: 120_000 }, async () => {
    for (const accountId of ['default', 'sales']) await service.addRoute('*', bed.agent.url, { accountId });
    await send('default', 'Hello, this is an automatic answer.');
    const stopped = async () => {
      const rows = [...(await received('default')), ...(await received('sales'))];
      return rows.some(({ reason }) => reason === 'auto-reply-loop') ? rows : undefined;
    };
    expect((await until('the end of the talk', stopped, 90_000)).length).toBeLessThanOrEqual(40);
  });
});
