import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageRejectedError } from '../../../../../router/src/core/errors.ts';
import {
  ackOf,
  ReceiptBatch,
  receiptsOf,
} from '../../../../../router/src/providers/baileys/outbound/receipts.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

const own = { id: '34600000001:7@s.whatsapp.net', lid: '900000000000001:7@lid' };
const NOW = 1_700_000_000_000;
const receipt = (attrs: Record<string, string>, ids: string[] = []) => ({
  tag: 'receipt',
  attrs: { id: 'A', from: '34600000002@s.whatsapp.net', t: '1700000001', ...attrs },
  content: ids.length
    ? [{ tag: 'list', attrs: {}, content: ids.map((id) => ({ tag: 'item', attrs: { id } })) }]
    : undefined,
});

describe('receipts', () => {
  it.each([
    [undefined, 'delivered'],
    ['inactive', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
  ])('of type %s say %s', (type, state) => {
    expect(receiptsOf(receipt(type ? { type } : {}), own, NOW)).toEqual([
      { waMessageId: 'A', state, atMs: 1_700_000_001_000 },
    ]);
  });

  it.each(['retry', 'sender', 'server-error', 'read-self'])(
    'of type %s say nothing about delivery',
    (type) => {
      expect(receiptsOf(receipt({ type }), own, NOW)).toEqual([]);
    },
  );

  it('contain several ids', () => {
    expect(receiptsOf(receipt({ type: 'read' }, ['B', 'C']), own, NOW).map((r) => r.waMessageId)).toEqual([
      'A',
      'B',
      'C',
    ]);
  });

  it.each<Record<string, string>>([
    { from: '34600000001@s.whatsapp.net' },
    { from: '900000000000001@lid' },
    { from: '120363000000000001@g.us', participant: '34600000001:0@s.whatsapp.net' },
  ])('of own devices do not count: %o', (attrs) => {
    expect(receiptsOf(receipt(attrs), own, NOW)).toEqual([]);
  });

  it('have the present time when none is given', () => {
    expect(receiptsOf(receipt({ t: 'x' }), own, NOW)[0]?.atMs).toBe(NOW);
  });
});

it('distinguishes an ack from a refusal', () => {
  const ack = (attrs: Record<string, string>) => ackOf({ tag: 'ack', attrs }, NOW);
  expect(ack({ id: 'A', class: 'message', t: '1700000001' })).toMatchObject({
    kind: 'acked',
    receipt: { waMessageId: 'A', state: 'acked' },
  });
  expect(ack({ id: 'A', class: 'message', error: '463' })).toEqual({
    kind: 'refused',
    waMessageId: 'A',
    code: '463',
  });
  expect(ack({ class: 'message' })).toBeUndefined();
});

describe('passing on receipts', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const item = (id: string) => ({ waMessageId: id, state: 'acked' as const, atMs: NOW });

  it('works in batches, in order', async () => {
    const stored: string[][] = [];
    const batch = new ReceiptBatch(async (receipts) => {
      stored.push(receipts.map((r) => r.waMessageId));
    }, recordingLog());
    batch.add([item('A')]);
    batch.add([item('B'), item('C')]);
    await vi.advanceTimersByTimeAsync(600);
    expect(stored).toEqual([['A', 'B', 'C']]);
  });

  it('stores what was gathered at once when a connection has ended', async () => {
    const stored: string[] = [];
    const batch = new ReceiptBatch(async (receipts) => {
      stored.push(...receipts.map((r) => r.waMessageId));
    }, recordingLog());
    batch.add([item('A')]);
    await batch.flush();
    expect(stored).toEqual(['A']);
    batch.add([item('B')]);
    await vi.advanceTimersByTimeAsync(600);
    expect(stored).toEqual(['A', 'B']);
  });

  it('retries receipts that could not be stored until it is closed', async () => {
    let attempts = 0;
    const batch = new ReceiptBatch(async () => {
      attempts += 1;
      if (attempts !== 3) throw new Error('no database');
    }, recordingLog());
    batch.add([item('A')]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(attempts).toBe(3);
    batch.add([item('B')]);
    await vi.advanceTimersByTimeAsync(600);
    await batch.finish();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(attempts).toBe(5);
  });

  it('keeps receipts that could not be stored for the next batch', async () => {
    let isDown = true;
    const stored: string[] = [];
    const batch = new ReceiptBatch(async (receipts) => {
      if (isDown) throw new Error('no database');
      stored.push(...receipts.map((r) => r.waMessageId));
    }, recordingLog());
    batch.add([item('A')]);
    await vi.advanceTimersByTimeAsync(600);
    isDown = false;
    batch.add([item('B')]);
    await batch.finish();
    expect(stored).toEqual(['A', 'B']);
  });

  it('drops a receipt that can never be stored, and stores the others', async () => {
    const stored: string[] = [];
    const batch = new ReceiptBatch(async (receipts) => {
      if (receipts.some(({ waMessageId }) => waMessageId === 'B'))
        throw new StorageRejectedError({ sentence: 'rejected' });
      stored.push(...receipts.map((r) => r.waMessageId));
    }, recordingLog());
    batch.add([item('A'), item('B'), item('C')]);
    await batch.flush();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(stored).toEqual(['A', 'C']);
  });
});

it.each(['99999999999999999999', '1e300', '-1', 'x', 'Infinity'])(
  'takes the own time for a receipt of the time %s',
  (t) => {
    expect(receiptsOf(receipt({ t }), own, NOW)).toMatchObject([{ atMs: NOW }]);
  },
);
