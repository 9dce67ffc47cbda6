import { describe, expect, it } from 'vitest';
import { ReservedSlot } from '../../../../router/src/core/delivery/deliver-reply.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';

const lease = { accountId: 'a', owner: 'n1', epoch: 1n };
const reply: QueuedReply = {
  outboxId: '1',
  chatId: 'c',
  message: { accountId: 'a', to: '1@lid', waMessageId: '3EB0', text: 'hello' },
};

describe('ReservedSlot', () => {
  it('passes on the replies of the first call, also when the slot is closed afterwards', async () => {
    const slot = new ReservedSlot(lease, 1);
    slot.fill([reply]);
    slot.fill([]);
    slot.close();
    expect(await slot.replies).toEqual([reply]);
  });

  it('passes on no reply when it is closed, and ignores replies that come later', async () => {
    const slot = new ReservedSlot(lease, 1);
    slot.close();
    slot.fill([reply]);
    expect(await slot.replies).toEqual([]);
  });

  it('distinguishes a released account from a turn without a reply', async () => {
    const slot = new ReservedSlot(lease, 1);
    slot.fill(undefined);
    slot.close();
    expect(await slot.replies).toBeUndefined();
  });
});
