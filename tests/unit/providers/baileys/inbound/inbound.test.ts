import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InboundState } from '../../../../../router/src/providers/baileys/inbound/inbound.ts';
import type {
  InboundEvent,
  InboundStanza,
} from '../../../../../router/src/providers/baileys/inbound/inbound-events.ts';
import { runs } from '../../../../support/property-runs.ts';
import { InboundModel, type Kind } from './inbound-model.ts';

type Step = readonly [name: keyof typeof STEPS, n: number, isSo: boolean];

const KINDS: Kind[] = [
  'plain',
  'plain',
  'plain',
  'plain',
  'corrupt',
  'lost',
  'key-only',
  'unavailable',
  'foreign',
];
const CHATS = 3;

/** Events with their weights. */
const STEPS = {
  write: 6,
  deliver: 8,
  decrypt: 6,
  commit: 5,
  store: 5,
  open: 2,
  resend: 2,
  tick: 2,
  repeat: 1,
  close: 1,
  failDecrypt: 1,
  failCommit: 1,
  crash: 1,
  phone: 2,
  reject: 1,
  stop: 1,
  unlink: 1,
};

function run(model: InboundModel, [name, n, isSo]: Step, maxBytes: number): void {
  if (name === 'write') {
    const kind = KINDS[n % KINDS.length] ?? 'plain';
    model.write(n % CHATS, kind, 1 + ((n * 7_919) % maxBytes));
  } else if (name === 'store' || name === 'repeat' || name === 'reject' || name === 'stop') model[name](n);
  else if (name === 'phone') model.phone(n, isSo);
  else if (name === 'close' || name === 'commit' || name === 'failCommit') model[name](isSo);
  else model[name]();
}

const steps: fc.Arbitrary<Step> = fc.tuple(
  fc.oneof(
    ...Object.entries(STEPS).map(([name, weight]) => ({
      weight,
      arbitrary: fc.constant(name as keyof typeof STEPS),
    })),
  ),
  fc.nat({ max: 1_000 }),
  fc.boolean(),
);

/** Found by 20,000 runs: messages of one chat came in the wrong order after an overflow and a failed commit. */
const OVERFLOW_AND_FAILED_COMMIT: Step[] = stepsOf(
  'write 0, write 7, write 666, deliver, deliver, deliver, decrypt, decrypt, write 217, write 856, write 5, deliver, decrypt',
  'commit, deliver, deliver, deliver, decrypt, failCommit',
);

/** The connection ends before wa2ai ends it: what Baileys acknowledged comes before what the full buffer dropped. */
const OVERFLOW_AND_CLOSE: Step[] = stepsOf(
  'write 0, write 0, write 0, write 585, write 704, deliver, write 78, deliver, deliver, decrypt, write 866, deliver, deliver',
  'decrypt, deliver, deliver, deliver, write 713, write 35, deliver, deliver, close, decrypt',
);

function stepsOf(...lines: string[]): Step[] {
  return lines
    .join(', ')
    .split(', ')
    .map((step) => {
      const [name, n = '0'] = step.split(' ');
      return [name as keyof typeof STEPS, Number(n), false];
    });
}

function checkProperty(maxBytes: number): void {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 150, size: 'max' }), (sequence) => {
      const model = new InboundModel();
      model.open();
      for (const step of sequence) run(model, step, maxBytes);
      model.settle();
    }),
    { ...runs(2_000), examples: [[OVERFLOW_AND_FAILED_COMMIT], [OVERFLOW_AND_CLOSE]] },
  );
}

describe('inbound messages under any sequence of events', () => {
  it('are acknowledged after their commit, delivered in order, and stored once', () => {
    checkProperty(500);
  });

  it('stay within the memory limit in a storm, and are not lost', () => {
    checkProperty(20_000);
  });
});

/** A reducer with one connection; the test supplies the events. */
function byHand() {
  const state = new InboundState<InboundStanza, string>(0n);
  const give = (event: InboundEvent<InboundStanza, string>) => state.handle(event);
  const stanza = (key: string, chat = 'c'): InboundStanza => ({
    key,
    chat,
    hash: `hash of ${key}`,
    bytes: 10,
    isOffline: false,
  });
  const read = (from: InboundStanza, unit: number) =>
    give({ type: 'decrypted', stanza: from, unit, content: from.key, bytes: 10 });
  const ticks = (count: number) => Array.from({ length: count }, () => give({ type: 'tick' })).flat();
  const names = (effects: ReturnType<typeof give>) => effects.map(({ type }) => type);
  give({ type: 'opened', durable: 0 });
  give({ type: 'logged-in' });
  return { state, give, stanza, read, ticks, names };
}

describe('a chat', () => {
  it('waits five seconds for a requested message, and no longer', () => {
    const { give, stanza, read, ticks, names } = byHand();
    const [lost, next] = [stanza('lost'), stanza('next')];
    give({ type: 'stanza', stanza: lost });
    give({ type: 'stanza', stanza: next });
    expect(names(give({ type: 'not-read', stanza: lost, why: 'failed' }))).toEqual(['ask-retry', 'decrypt']);
    read(next, 1);
    expect(names(give({ type: 'committed', unit: 1 }))).toEqual(['receipts']);
    expect(names(ticks(4))).toEqual([]);
    expect(names(ticks(1))).toEqual(['deliver']);
  });

  it('waits for the requested message, which comes first when it arrives in time', () => {
    const { give, stanza, read } = byHand();
    const [lost, next] = [stanza('lost'), stanza('next')];
    give({ type: 'stanza', stanza: lost });
    give({ type: 'stanza', stanza: next });
    give({ type: 'not-read', stanza: lost, why: 'failed' });
    read(next, 1);
    give({ type: 'committed', unit: 1 });
    const again = { ...lost, hash: 'another' };
    give({ type: 'stanza', stanza: again });
    read(again, 2);
    expect(give({ type: 'committed', unit: 2 })).toMatchObject([
      { type: 'receipts' },
      { type: 'deliver', key: 'lost', order: 1n },
    ]);
    expect(give({ type: 'delivered', key: 'lost', isStored: true })).toMatchObject([
      { type: 'deliver', key: 'next', order: 2n },
    ]);
  });

  it('waits for the next process behind a message that core did not take before the service stopped', () => {
    const { give, stanza, read } = byHand();
    const [first, next, other] = [stanza('first'), stanza('next'), stanza('other', 'd')];
    for (const one of [first, next, other]) give({ type: 'stanza', stanza: one });
    for (const [unit, one] of [first, next, other].entries()) read(one, unit + 1);
    expect(give({ type: 'committed', unit: 3 })).toMatchObject([
      { type: 'receipts' },
      { type: 'deliver', key: 'first' },
      { type: 'deliver', key: 'other' },
    ]);
    expect(give({ type: 'not-delivered', key: 'first' })).toEqual([]);
    expect(give({ type: 'delivered', key: 'other', isStored: true })).toEqual([]);
  });

  it('does not wait for another chat, and chats alternate', () => {
    const { give, stanza } = byHand();
    const many = Array.from({ length: 3 }, (_, n) => stanza(`a${n}`, 'a'));
    for (const one of many) give({ type: 'stanza', stanza: one });
    give({ type: 'stanza', stanza: stanza('b0', 'b') });
    const [first] = many;
    if (!first) throw new Error('there are three');
    expect(give({ type: 'decrypted', stanza: first, unit: 1, content: 'x', bytes: 1 })).toMatchObject([
      { type: 'decrypt', stanza: { key: 'a1' } },
    ]);
    const [, second] = many;
    if (!second) throw new Error('there are three');
    expect(give({ type: 'decrypted', stanza: second, unit: 2, content: 'x', bytes: 1 })).toMatchObject([
      { type: 'decrypt', stanza: { key: 'b0' } },
    ]);
  });
});

it('journals a message whose content came from the phone before its stanza is acknowledged', () => {
  const { give, stanza, read, ticks } = byHand();
  const message = stanza('A');
  give({ type: 'stanza', stanza: message });
  give({ type: 'not-read', stanza: message, why: 'failed' });
  give({ type: 'content', stanza: { ...message, hash: '' }, content: 'A', bytes: 10 });
  const again = { ...message, hash: 'another' };
  expect(give({ type: 'stanza', stanza: again })).toMatchObject([{ type: 'decrypt', isContent: true }]);
  read(again, 1);
  expect(give({ type: 'committed', unit: 1 })).toMatchObject([{ type: 'receipts' }]);
  give({ type: 'delivered', key: 'A', isStored: true });
  expect(ticks(5)).toEqual([{ type: 'forget', hashes: ['another'] }]);
});

it('names an earlier message that is only in memory in the journal row of a later one', () => {
  const { give, stanza } = byHand();
  give({ type: 'content', stanza: { ...stanza('A'), hash: '' }, content: 'A', bytes: 10 });
  expect(give({ type: 'stanza', stanza: stanza('B') })).toMatchObject([
    { type: 'decrypt', behind: [{ key: 'A', order: 1n }] },
  ]);
});

describe('a journal row', () => {
  it('is kept for five seconds after the message is stored and acknowledged', () => {
    const { give, stanza, read, ticks } = byHand();
    const message = stanza('A');
    give({ type: 'stanza', stanza: message });
    read(message, 1);
    give({ type: 'committed', unit: 1 });
    give({ type: 'delivered', key: 'A', isStored: true });
    expect(ticks(4)).toEqual([]);
    expect(ticks(1)).toEqual([{ type: 'forget', hashes: ['hash of A'] }]);
  });

  it('is kept until WhatsApp stops redelivering when its receipt may be lost', () => {
    const { give, stanza, read, ticks } = byHand();
    const message = stanza('A');
    give({ type: 'stanza', stanza: message });
    read(message, 1);
    give({ type: 'committed', unit: 1 });
    give({ type: 'delivered', key: 'A', isStored: true });
    give({ type: 'closed' });
    expect(ticks(30)).toEqual([]);
    give({ type: 'opened', durable: 1 });
    give({ type: 'logged-in' });
    give({ type: 'offline-ended' });
    expect(ticks(5)).toEqual([{ type: 'forget', hashes: ['hash of A'] }]);
  });
});

describe('a message that core was done with in an earlier process', () => {
  it('is not delivered, and its row is kept until WhatsApp stops redelivering', () => {
    const { give, stanza, ticks } = byHand();
    give({ type: 'closed' });
    expect(give({ type: 'done-before', stanza: stanza('A'), order: 5n })).toEqual([]);
    expect(ticks(30)).toEqual([]);
    give({ type: 'opened', durable: 0 });
    give({ type: 'logged-in' });
    give({ type: 'offline-ended' });
    expect(ticks(5)).toEqual([{ type: 'forget', hashes: ['hash of A'] }]);
  });

  it('is acknowledged only when its stanza arrives again', () => {
    const { give, stanza } = byHand();
    const message = stanza('A');
    give({ type: 'done-before', stanza: message, order: 5n });
    expect(give({ type: 'stanza', stanza: message })).toEqual([{ type: 'receipts', stanzas: [message] }]);
  });

  it('does not stop a later message that names it as missing', () => {
    const { give, stanza } = byHand();
    give({ type: 'done-before', stanza: stanza('A'), order: 5n });
    const behind = [{ key: 'A', order: 5n }];
    const later = { stanza: stanza('B'), order: 6n, content: 'B', bytes: 1, behind };
    expect(give({ type: 'journalled', ...later })).toMatchObject([{ type: 'deliver', key: 'B' }]);
  });
});

describe('a message whose text never arrives', () => {
  it('is recorded after a minute, once', () => {
    const { give, stanza, ticks, names } = byHand();
    const message = stanza('A');
    give({ type: 'stanza', stanza: message });
    give({ type: 'not-read', stanza: message, why: 'failed' });
    expect(names(ticks(59))).toEqual([]);
    expect(names(ticks(1))).toEqual(['undecryptable']);
    expect(names(ticks(120))).toEqual([]);
  });

  it('is recorded at the fifth failure, and when the service stops', () => {
    const { give, stanza, names } = byHand();
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const message = { ...stanza('A'), hash: `${attempt}` };
      give({ type: 'stanza', stanza: message });
      const effects = names(give({ type: 'not-read', stanza: message, why: 'failed' }));
      expect(effects).toEqual(attempt < 5 ? ['ask-retry'] : ['ask-retry', 'undecryptable']);
    }
    const other = stanza('B');
    give({ type: 'stanza', stanza: other });
    give({ type: 'not-read', stanza: other, why: 'failed' });
    expect(names(give({ type: 'stopping' }))).toEqual(['undecryptable']);
  });

  it('is recorded when it arrived without ciphertext and the phone does not send it', () => {
    const { give, stanza, ticks, names } = byHand();
    give({ type: 'announced', key: 'A', chat: 'c' });
    give({ type: 'missing', stanza: stanza('A') });
    expect(names(ticks(60))).toEqual(['undecryptable']);
  });
});

it('ends the offline batch after twenty seconds without a message', () => {
  const { state, give, stanza, ticks, names } = byHand();
  const message = stanza('A');
  give({ type: 'stanza', stanza: message });
  give({ type: 'closed' });
  give({ type: 'not-read', stanza: message, why: 'not-attempted' });
  give({ type: 'opened', durable: 0 });
  expect(state.openSlots).toBe(1);
  ticks(100);
  // A login can take any time.
  expect(state.openSlots).toBe(1);
  give({ type: 'logged-in' });
  expect(names(ticks(19))).toEqual([]);
  expect(state.openSlots).toBe(1);
  ticks(1);
  expect(state.openSlots).toBe(0);
});

describe('a stanza that cannot be handled', () => {
  const END = ['refuse', 'undecryptable'];

  it('is refused and recorded, and the next message of its chat is delivered', () => {
    const { give, stanza, read, names } = byHand();
    const [bad, next] = [stanza('bad'), stanza('next')];
    give({ type: 'stanza', stanza: bad });
    give({ type: 'stanza', stanza: next });
    expect(names(give({ type: 'not-read', stanza: bad, why: 'impossible' }))).toEqual([...END, 'decrypt']);
    read(next, 1);
    expect(names(give({ type: 'committed', unit: 1 }))).toEqual(['receipts', 'deliver']);
    expect(names(give({ type: 'stanza', stanza: bad }))).toEqual(['receipts']);
  });

  it('ends alone when the database rejects its unit', () => {
    const { state, give, stanza, read, names } = byHand();
    const [bad, next] = [stanza('bad'), stanza('next')];
    for (const one of [bad, bad, next]) give({ type: 'stanza', stanza: one });
    read(bad, 1);
    read(next, 2);
    expect(names(give({ type: 'rejected', unit: 1 }))).toEqual(['refuse', 'undecryptable', 'refuse']);
    expect(give({ type: 'committed', unit: 2 })).toMatchObject([
      { type: 'receipts', stanzas: [{ key: 'next' }] },
      { type: 'deliver', key: 'next' },
    ]);
    give({ type: 'delivered', key: 'next', isStored: true });
    expect([state.bytes, state.unstored, state.openSlots]).toEqual([0, 0, 0]);
  });

  it('is set aside when two connections in a row ended while it was open, and nobody else waits for it', () => {
    const { give, stanza, read, names } = byHand();
    const [bad, other] = [stanza('bad', 'a'), stanza('other', 'b')];
    const connect = () => {
      give({ type: 'closed' });
      give({ type: 'opened', durable: 0 });
      give({ type: 'logged-in' });
    };
    for (const one of [bad, other]) give({ type: 'stanza', stanza: one });
    read(bad, 1);
    read(other, 2);
    give({ type: 'commit-failed', isSuspect: true });
    connect();
    expect(names(give({ type: 'stanza', stanza: bad }))).toEqual(['decrypt']);
    give({ type: 'stanza', stanza: other });
    // One of the two ended the connection, so each has a commit of its own.
    expect(names(read(bad, 3))).toEqual([]);
    expect(names(give({ type: 'commit-failed', isSuspect: true }))).toEqual(['decrypt']);
    connect();
    give({ type: 'not-read', stanza: other, why: 'not-attempted', isSuspect: true });
    expect(names(give({ type: 'stanza', stanza: bad }))).toEqual(END);
    expect(names(give({ type: 'stanza', stanza: other }))).toEqual(['decrypt']);
    read(other, 4);
    expect(names(give({ type: 'committed', unit: 4 }))).toEqual(['receipts', 'deliver']);
  });

  it('is not suspected when the database was away', () => {
    const { give, stanza, read, names } = byHand();
    const one = stanza('one');
    for (let round = 0; round < 5; round += 1) {
      expect(names(give({ type: 'stanza', stanza: one }))).toEqual(['decrypt']);
      read(one, round + 1);
      give({ type: 'commit-failed' });
      give({ type: 'closed' });
      give({ type: 'opened', durable: 0 });
    }
  });
});
