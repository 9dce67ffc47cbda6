import { describe, expect, it } from 'vitest';
import { runScenario } from '../../../router/src/features/playground/run-scenario.ts';
import {
  type Scenario,
  type ScenarioChat,
  type ScenarioWorld,
  type ScenarioWriting,
  type ShownEvent,
  StepFailedError,
  scenarioSchema,
} from '../../../router/src/features/playground/scenario.ts';
import { FakeClock } from '../../support/fake-clock.ts';

type Answer = { afterMs: number; event: Record<string, unknown> };

/** A playground whose account answers as `answer` says. Time passes only while a scenario waits. */
function setup(answer: (writing: ScenarioWriting) => Answer[] = () => []) {
  const clock = new FakeClock();
  const calls: unknown[][] = [];
  const opened: ScenarioChat[] = [];
  const shown: Array<{ atMs: number; chatId: string; event: ShownEvent }> = [];
  const written: Array<{ id: string; direction: 'incoming' | 'outgoing'; text: string }> = [];
  let ids = 0;
  const world: ScenarioWorld = {
    open: async (chat) => {
      opened.push(chat);
      return `chat${opened.length}`;
    },
    write: async (chatId, writing) => {
      calls.push(['write', chatId, writing]);
      if (writing.text === 'refused') throw new StepFailedError({ sentence: 'The file is empty.' });
      const id = String(++ids);
      written.unshift({ id, direction: 'incoming', text: writing.text ?? '' });
      for (const { afterMs, event } of answer(writing)) {
        const atMs = clock.monotonicMs() + afterMs;
        shown.push({ atMs, chatId, event: { id: String(++ids), ...event } as ShownEvent });
        written.unshift({ id: String(ids), direction: 'outgoing', text: String(event.text ?? '') });
      }
      return id;
    },
    messages: async () => written,
    events: async (chatId, after, waitMs) => {
      const due = () =>
        shown
          .filter((each) => each.chatId === chatId && BigInt(each.event.id) > BigInt(after))
          .filter(({ atMs }) => atMs <= clock.monotonicMs())
          .map(({ event }) => event);
      const next = shown.find((each) => each.chatId === chatId && BigInt(each.event.id) > BigInt(after));
      if (due().length > 0) return due();
      const leftMs = next ? Math.max(0, next.atMs - clock.monotonicMs()) : waitMs;
      await clock.advanceMs(Math.min(leftMs, waitMs));
      return due();
    },
    close: async () => void calls.push(['close']),
  };
  const matcher = {
    test: async (pattern: string, text: string) =>
      new RegExp(pattern).test(text) ? ('match' as const) : ('no-match' as const),
  };
  const run = (scenario: object, signal?: AbortSignal) =>
    runScenario({ world, matcher, clock }, scenarioSchema.parse(scenario) as Scenario, signal);
  return { run, calls, opened, clock };
}

const says = (text: string, afterMs = 100, more: object = {}): Answer => ({
  afterMs,
  event: { kind: 'message', waMessageId: `WA${text}`, text, ...more },
});
const echo = ({ text = '' }: ScenarioWriting) => [says(text)];
const outcomes = (result: { steps: Array<{ outcome: string }> }) =>
  result.steps.map(({ outcome }) => outcome);

describe('runScenario', () => {
  it('passes when the account says what is expected, and tidies up', async () => {
    const { run, calls } = setup(echo);
    const result = await run({
      name: 'Echo',
      steps: [{ as: 'Ana', say: 'Hola' }, { expect: { contains: 'hola', withinMs: 500 } }],
    });
    expect(result).toEqual({
      name: 'Echo',
      isPassed: true,
      steps: [
        { number: 1, step: 'Ana says: “Hola”', outcome: 'passed', ms: 0 },
        {
          ...{ number: 2, step: 'expect a message that contains “hola” within 500 ms' },
          ...{ outcome: 'passed', ms: 100, detail: 'Hola' },
        },
      ],
    });
    expect(calls.at(-1)).toEqual(['close']);
  });

  it('fails with what was said instead, and skips the steps behind', async () => {
    const { run } = setup(() => [says('good'), says('bye', 200)]);
    const result = await run({
      steps: [{ as: 'Ana', say: 'x' }, { expect: { equals: 'hello', withinMs: 300 } }, { say: 'y' }],
    });
    expect(outcomes(result)).toEqual(['passed', 'failed', 'skipped']);
    expect(result.steps[1]).toMatchObject({ detail: 'It said instead: “good”, “bye”.', ms: 300 });
  });

  it('fails when the answer comes too late', async () => {
    const { run } = setup(() => [says('hello', 501)]);
    const result = await run({ steps: [{ as: 'Ana', say: 'x' }, { expect: { withinMs: 500 } }] });
    expect(result.steps[1]).toMatchObject({ outcome: 'failed', detail: 'Nothing was said within 500 ms.' });
  });

  it.each([
    [{ matches: '^h.*o$' }, true],
    [{ matches: '^o' }, false],
    [{ equals: 'hello' }, true],
    [{ equals: 'hell' }, false],
    [{ quotes: 'QUESTION' }, true],
    [{ quotes: 'other' }, false],
    [{ file: 'image' }, true],
    [{ file: 'voice' }, false],
    [{ contains: 'ell', not: { contains: 'error' } }, true],
    [{ not: { matches: 'l+' } }, false],
  ])('judges a message by %j: %s', async (expected, isPassed) => {
    const file = { id: '1', kind: 'image', mimeType: 'image/png' };
    const { run } = setup(() => [says('hello', 1, { quotedText: 'my question', file })]);
    const result = await run({
      steps: [{ as: 'Ana', say: 'x' }, { expect: { ...expected, withinMs: 50 } }],
    });
    expect(result.isPassed).toBe(isPassed);
  });

  it('applies `not` to what is said before the expected message too', async () => {
    const { run } = setup(() => [says('error 5'), says('fine', 200)]);
    const result = await run({
      steps: [{ as: 'Ana', say: 'x' }, { expect: { contains: 'fine', not: { contains: 'error' } } }],
    });
    expect(result.steps[1]).toMatchObject({ outcome: 'failed', detail: 'It said “error 5”.' });
  });

  it('counts each message once: a silence begins behind what was expected', async () => {
    const { run } = setup(() => [says('one'), says('two', 150)]);
    const steps = [{ as: 'Ana', say: 'x' }, { expect: { contains: 'one' } }];
    expect(outcomes(await run({ steps: [...steps, { silence: 500 }] }))).toEqual([
      ...['passed', 'passed', 'failed'],
    ]);
    const both = setup(() => [says('one'), says('two', 150)]);
    const expectTwo = [{ expect: { contains: 'two' } }, { silence: 500 }];
    expect((await both.run({ steps: [...steps, ...expectTwo] })).isPassed).toBe(true);
    expect(both.clock.monotonicMs() - Date.UTC(2026, 0, 1)).toBe(650);
  });

  it('does not take typing, read receipts, edits and deletions for a broken silence', async () => {
    const { run } = setup(() => [
      { afterMs: 1, event: { kind: 'typing', isTyping: true } },
      { afterMs: 2, event: { kind: 'read', about: 'WA1' } },
      says('more', 3, { special: 'edit' }),
      says('', 4, { special: 'deletion' }),
    ]);
    expect((await run({ steps: [{ as: 'Ana', say: 'x' }, { silence: 100 }] })).isPassed).toBe(true);
  });

  it('expects a reaction of the account', async () => {
    const react = { kind: 'reaction', about: 'WA1', emoji: '👍' };
    const steps = (emoji: string) => [{ as: 'Ana', say: 'x' }, { expect: { reaction: emoji, withinMs: 50 } }];
    const answer = () => [{ afterMs: 1, event: react }];
    expect((await setup(answer).run({ steps: steps('👍') })).isPassed).toBe(true);
    const wrong = await setup(answer).run({ steps: steps('❤️') });
    expect(wrong.steps[1]?.detail).toBe('It said instead: “reaction 👍”.');
  });

  it('reacts, quotes, edits and deletes', async () => {
    const { run, calls } = setup(echo);
    const result = await run({
      steps: [
        { as: 'Ana', say: 'one' },
        { expect: {} },
        { react: '👍' },
        { say: 'two', quote: true },
        { say: 'three', quote: 'tw' },
        { edit: 'four' },
        { delete: true },
      ],
    });
    expect(result.isPassed).toBe(true);
    expect(calls.slice(1, -1).map(([, , writing]) => writing)).toEqual([
      { as: 'Ana', reaction: { to: '2', emoji: '👍' } },
      { as: 'Ana', text: 'two', quote: expect.any(String) },
      { as: 'Ana', text: 'three', quote: expect.any(String) },
      { as: 'Ana', edit: expect.any(String), text: 'four' },
      { as: 'Ana', delete: expect.any(String) },
    ]);
  });

  it.each([
    [{ react: '👍' }, 'The account has said nothing to react to.'],
    [{ say: 'x', quote: true }, 'The account has said nothing to quote.'],
    [{ say: 'x', quote: 'nowhere' }, 'No message has “nowhere”.'],
    [{ edit: 'x' }, 'Ana has written nothing in this chat.'],
    [{ say: 'refused' }, 'The file is empty.'],
  ])('fails at %j', async (step, detail) => {
    const result = await setup().run({ steps: [{ as: 'Ana', ...step }] });
    expect(result.steps[0]).toMatchObject({ outcome: 'failed', detail });
  });

  it('opens a group with all who write in it, and chats of persons', async () => {
    const { run, opened, calls } = setup();
    await run({
      people: { Luis: '+54 9 3777 239922' },
      steps: [
        { as: 'Ana', group: 'Family', say: 'one' },
        { as: 'Luis', group: 'Family', say: 'two' },
        { as: '+34 600 000 001', say: 'three' },
        { group: 'Family', silence: 1 },
      ],
    });
    const luis = { name: 'Luis', phone: '+54 9 3777 239922' };
    const third = { name: '+34 600 000 001', phone: '+34 600 000 001' };
    expect(opened).toEqual([
      { kind: 'group', name: 'Family', people: [{ name: 'Ana' }, luis, third] },
      { kind: 'person', name: '+34 600 000 001', people: [third] },
    ]);
    expect(calls.map(([what, chatId]) => [what, chatId])).toEqual([
      ...[
        ['write', 'chat1'],
        ['write', 'chat1'],
        ['write', 'chat2'],
      ],
      ['close', undefined],
    ]);
  });

  it('skips what follows when nobody waits any more, and tidies up', async () => {
    const { run, calls } = setup();
    const result = await run({ steps: [{ as: 'Ana', say: 'x' }] }, AbortSignal.abort());
    expect([outcomes(result), result.isPassed, calls]).toEqual([['skipped'], false, [['close']]]);
  });
});
