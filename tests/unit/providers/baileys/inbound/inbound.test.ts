import fc from 'fast-check';
import { describe, it } from 'vitest';
import { InboundModel, type Kind } from './inbound-model.ts';

type Step = readonly [name: keyof typeof STEPS, n: number, isSo: boolean];

const KINDS: Kind[] = ['plain', 'plain', 'plain', 'plain', 'corrupt', 'lost', 'key-only'];
const CHATS = 3;

/** What may happen, with its weight. */
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
};

function run(model: InboundModel, [name, n, isSo]: Step, maxBytes: number): void {
  if (name === 'write') {
    const kind = KINDS[n % KINDS.length] ?? 'plain';
    model.write(n % CHATS, kind, 1 + ((n * 7_919) % maxBytes));
  } else if (name === 'store' || name === 'repeat') model[name](n);
  else if (name === 'close' || name === 'failCommit') model[name](isSo);
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

function holds(maxBytes: number, numRuns: number): void {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 150, size: 'max' }), (sequence) => {
      const model = new InboundModel();
      model.open();
      for (const step of sequence) run(model, step, maxBytes);
      model.settle();
    }),
    { numRuns },
  );
}

describe('inbound messages under any sequence of events', () => {
  it('are acknowledged after their commit, delivered in order, and stored once', () => {
    holds(500, 2_000);
  });

  it('keep to the memory bound in a storm, and lose nothing', () => {
    holds(20_000, 2_000);
  });
});
