import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeptPlaces, type Place } from '../../../../../router/src/providers/baileys/inbound/kept-places.ts';
import { OrderedLanes } from '../../../../../router/src/providers/baileys/inbound/ordered-lanes.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let lanes: OrderedLanes;
let places: KeptPlaces;
let done: string[];
let log: ReturnType<typeof recordingLog>;
let orders: bigint;

beforeEach(() => {
  vi.useFakeTimers();
  lanes = new OrderedLanes(2);
  log = recordingLog();
  places = new KeptPlaces(lanes, log);
  done = [];
  orders = 0n;
});
afterEach(() => {
  vi.useRealTimers();
});

function begin(key: string, lane = 'chat'): Place {
  orders += 1n;
  return places.begin({ key, order: orders, lane });
}

const fill = (place: Place) =>
  places.fill(place, async () => {
    done.push(place.key);
  });
const settle = () => vi.advanceTimersByTimeAsync(0);
const hours = () => vi.advanceTimersByTimeAsync(3_600_000);

describe('a place', () => {
  it('holds its chat while its message is being decrypted, however long, and no other chat', async () => {
    const first = begin('first');
    fill(begin('second'));
    fill(begin('elsewhere', 'other chat'));
    await hours();
    expect(done).toEqual(['elsewhere']);
    fill(first);
    await settle();
    expect(done).toEqual(['elsewhere', 'first', 'second']);
    expect(places.size).toBe(0);
  });

  it('is shared by the deliveries of one message, and kept until the last of them came to nothing', async () => {
    const [one, twin] = [begin('first'), begin('first')];
    fill(begin('second'));
    places.nothing(one);
    await settle();
    expect(done).toEqual([]);
    places.nothing(twin);
    await settle();
    expect(done).toEqual(['second']);
  });

  it('that was given up does not keep its message from being handed on', async () => {
    const first = begin('first');
    fill(begin('second'));
    places.nothing(first);
    fill(first);
    await settle();
    expect(done).toEqual(['second', 'first']);
  });

  it('waits for those before it in its chat, which it can name', () => {
    begin('first');
    begin('elsewhere', 'other chat');
    const second = begin('second');
    begin('third');
    expect(places.before(second)).toEqual([{ key: 'first', order: 1n }]);
  });
});

describe('a message that is asked for again', () => {
  it('is waited for some seconds', async () => {
    places.asked(begin('first'));
    fill(begin('second'));
    await vi.advanceTimersByTimeAsync(4_999);
    expect(done).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(done).toEqual(['second']);
  });

  it('is waited for anew when it came, and could not be read again', async () => {
    places.asked(begin('first'));
    fill(begin('second'));
    await vi.advanceTimersByTimeAsync(4_000);
    const again = begin('first');
    await vi.advanceTimersByTimeAsync(4_000);
    places.asked(again);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(done).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual(['second']);
  });

  it('is not waited for when its sender will not send it', async () => {
    places.asked(begin('first'));
    fill(begin('second'));
    places.giveUp('first');
    await settle();
    expect(done).toEqual(['second']);
  });

  it('may come with what waited, when the connection ended meanwhile', async () => {
    places.asked(begin('first'));
    fill(begin('second'));
    places.connectionClosed();
    places.giveUp('first');
    await hours();
    expect(done).toEqual([]);
    fill(begin('first'));
    await settle();
    expect(done).toEqual(['first', 'second']);
  });
});

describe('a message that WhatsApp will deliver again', () => {
  it.each([
    ['was being decrypted when the connection ended', () => places.connectionClosed()],
    ['ended unread with nobody told', (first: Place) => places.lost(first)],
  ])('since it %s is waited for until all was delivered', async (_, end) => {
    const first = begin('first');
    fill(begin('second'));
    end(first);
    await hours();
    expect(done).toEqual([]);
    places.deliveredAgain();
    await settle();
    expect(done).toEqual(['second']);
  });

  it('keeps its place while it is decrypted, although all was delivered', async () => {
    begin('first');
    places.connectionClosed();
    fill(begin('second'));
    const again = begin('first');
    places.deliveredAgain();
    await settle();
    expect(done).toEqual([]);
    fill(again);
    await settle();
    expect(done).toEqual(['first', 'second']);
  });

  it('takes the place that was kept since an earlier process, and whoever kept it hears when it does not come', async () => {
    const givenUp: string[] = [];
    places.keep({ key: 'first', order: 1n, lane: 'chat' }, () => givenUp.push('first'));
    places.keep({ key: 'second', order: 2n, lane: 'chat' }, () => givenUp.push('second'));
    fill(begin('third'));
    fill(begin('first'));
    await settle();
    expect(done).toEqual(['first']);
    places.deliveredAgain();
    await settle();
    expect([done, givenUp]).toEqual([['first', 'third'], ['second']]);
  });
});

it('the log tells what is waited for by id, and nothing about who wrote it', () => {
  places.asked(places.begin({ key: '34600000002@s.whatsapp.net  3EB0A', order: 7n, lane: 'chat' }));
  expect(log.lines).toEqual([
    {
      level: 'debug',
      message: 'a place is kept',
      fields: { waMessageId: '3EB0A', order: '7', awaits: 'retry' },
    },
  ]);
});
