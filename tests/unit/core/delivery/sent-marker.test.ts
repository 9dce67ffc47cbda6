import { beforeEach, describe, expect, it } from 'vitest';
import { chatHash } from '../../../../router/src/core/chat-id.ts';
import { SentMarker } from '../../../../router/src/core/delivery/send-reply.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const reply = (outboxId: string): QueuedReply => ({
  outboxId,
  messageId: '7',
  chatId: '1' as QueuedReply['chatId'],
  message: { accountId: 'main', to: 'a@lid', waMessageId: `WA${outboxId}`, text: 'hello' },
});

let clock: FakeClock;
let marked: string[];
let failing: string[];
let marker: SentMarker;
let log: ReturnType<typeof recordingLog>;

beforeEach(() => {
  clock = new FakeClock();
  marked = [];
  failing = [];
  const markSent = async (outboxId: string) => {
    if (failing.includes(outboxId)) throw new Error('the database is unavailable');
    marked.push(outboxId);
  };
  log = recordingLog();
  marker = new SentMarker({ outbox: { markSent }, clock, log });
});

describe('SentMarker', () => {
  it('marks a reply a second after it was sent, and not before', async () => {
    marker.sent(reply('1'));
    await clock.advanceMs(999);
    expect(marked).toEqual([]);
    await clock.advanceMs(1);
    await marker.finish();
    expect(marked).toEqual(['1']);
  });

  it('does not mark a reply that was acknowledged in time', async () => {
    marker.sent(reply('1'));
    marker.sent(reply('2'));
    marker.acknowledged(['WA1']);
    await clock.advanceMs(1_000);
    await marker.finish();
    expect(marked).toEqual(['2']);
  });

  it('gives each reply its second', async () => {
    marker.sent(reply('1'));
    await clock.advanceMs(600);
    marker.sent(reply('2'));
    await clock.advanceMs(400);
    expect(marked).toEqual(['1']);
    await clock.advanceMs(599);
    expect(marked).toEqual(['1']);
    await clock.advanceMs(1);
    expect(marked).toEqual(['1', '2']);
    // The next one begins another wait.
    marker.sent(reply('3'));
    marker.acknowledged(['WA3']);
    await clock.advanceMs(1_000);
    marker.sent(reply('4'));
    await clock.advanceMs(1_000);
    expect(marked).toEqual(['1', '2', '4']);
  });

  it('marks all replies at once on finish, also after one that fails', async () => {
    failing = ['1'];
    for (const id of ['1', '2']) marker.sent(reply(id));
    await marker.finish();
    expect(marked).toEqual(['2']);
    await clock.advanceMs(1_000);
    await marker.finish();
    expect(marked).toEqual(['2']);
  });

  it('logs a failed mark with the message it answers and its chat', async () => {
    failing = ['1'];
    marker.sent(reply('1'));
    await marker.finish();
    expect(log.lines).toMatchObject([
      {
        level: 'warn',
        message: 'cannot store that a reply was sent',
        fields: { messageId: '7', waMessageId: 'WA1', chat: chatHash('1') },
      },
    ]);
  });
});
