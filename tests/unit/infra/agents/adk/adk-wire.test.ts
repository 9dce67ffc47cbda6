import { describe, expect, it } from 'vitest';
import samples from '../../../../../refs/adk_samples.json' with { type: 'json' };
import {
  type AdkEvent,
  eventsOfMessage,
  isFinished,
  isSessionMissing,
  isSessionThere,
  parseAppNames,
  parseEvents,
  parseSessionEvents,
  readAnswer,
  runBody,
} from '../../../../../router/src/infra/agents/adk/adk-wire.ts';

/** Recorded from a real server, see refs/adk_api.md. */
function sample(name: keyof typeof samples): AdkEvent[] {
  const parsed = parseEvents(JSON.stringify(samples[name]));
  if (!parsed.ok) throw new Error(parsed.problem.sentence);
  return parsed.value;
}

function anEvent(text: string, changes: Partial<AdkEvent> = {}): AdkEvent {
  return { author: 'front_desk', content: { role: 'model', parts: [{ text }] }, ...changes };
}

function textOf(events: AdkEvent[]): string | undefined {
  const answer = readAnswer(events);
  return answer.kind === 'text' ? answer.text : undefined;
}

describe('reading a recorded run', () => {
  it.each([
    ['plain text', 'turn 1: you said "hello"'],
    ['tool call', 'get_weather said {"city":"Lima","celsius":25,"sky":"sunny"}'],
    ['tool that throws', `broken said {"error":"Error in tool 'broken': tool exploded"}`],
    ['transfer', 'billing here: you said "billing please"'],
    ['thought', 'The answer is 42.'],
    ['cut short', 'half an ans'],
    ['sequential agents', 'edited answer on "tea"'],
    ['parallel agents', 'left says yes\n\nright says no'],
    ['parallel agents, then one', 'weighed: for it'],
    ['agent named model', 'turn 1: you said "hello"'],
  ] as const)('returns the text for the person: %s', (name, expected) => {
    expect(textOf(sample(name))).toBe(expected);
  });

  it.each(['no parts', 'picture only'] as const)('has no text: %s', (name) => {
    expect(readAnswer(sample(name)).kind).toBe('silent');
  });

  it('distinguishes a failed model from an overloaded one', () => {
    expect(readAnswer(sample('model error'))).toMatchObject({
      kind: 'failed',
      code: 'UNKNOWN_ERROR',
      reason: 'model exploded',
      isRepeatable: false,
    });
    expect(readAnswer(sample('model overloaded'))).toMatchObject({ code: '429', isRepeatable: true });
    expect(readAnswer(sample('refused by the model'))).toMatchObject({ code: 'SAFETY', isRepeatable: false });
  });

  it('keeps the metadata beside the text', () => {
    expect(readAnswer(sample('usage'))).toMatchObject({
      author: 'front_desk',
      eventCount: 1,
      invocationId: expect.stringMatching(/^e-/),
      usage: { promptTokenCount: 3, candidatesTokenCount: 1 },
    });
    expect(readAnswer(sample('state'))).toMatchObject({ stateDelta: { note: 'blue' } });
    expect(readAnswer(sample('cut short'))).toMatchObject({ finishReason: 'MAX_TOKENS' });
  });

  it('finds the run of a message in the session, and that it ended', () => {
    const session = parseSessionEvents(JSON.stringify(samples['session after a tool call']));
    if (!session.ok) throw new Error(session.problem.sentence);
    const events = eventsOfMessage(session.value, '3EB0AA') ?? [];
    expect(textOf(events)).toContain('sunny');
    expect(readAnswer(events)).not.toHaveProperty('stateDelta');
    expect([isFinished(events), isFinished(events.slice(0, 2)), isFinished(events.slice(0, 1))]).toEqual([
      true,
      false,
      false,
    ]);
    expect(eventsOfMessage(session.value, 'another')).toBeUndefined();
  });
});

describe('reading a run', () => {
  it('counts only the author model when there is one, as the contract says', () => {
    expect(textOf([anEvent('yes', { author: 'model' }), anEvent('no', { author: 'helper' })])).toBe('yes');
  });

  it('returns the text beside a failure that the agent recovered from', () => {
    expect(textOf([{ author: 'front_desk', errorCode: 'UNKNOWN_ERROR' }, anEvent('sorted out')])).toBe(
      'sorted out',
    );
  });

  it('does not repeat an overloaded run in which a tool had run', () => {
    const called = anEvent('', { content: { role: 'model', parts: [{ functionCall: { name: 'pay' } }] } });
    const answer = readAnswer([called, { author: 'front_desk', errorCode: 503 }]);
    expect(answer).toMatchObject({ kind: 'failed', isRepeatable: false });
  });

  it('skips partial events, blank texts and messages to the agent', () => {
    const events = [
      anEvent('whole'),
      anEvent('par', { partial: true }),
      anEvent(' \n'),
      anEvent('', {
        content: { role: 'user', parts: [{ text: 'result of a tool' }] },
      }),
    ];
    expect(textOf(events)).toBe('whole');
  });

  it('returns the last text of each branch, and a single branch as one answer', () => {
    const left = anEvent('left 1', { branch: 'fan.left' });
    const right = anEvent('right', { branch: 'fan.right' });
    expect(textOf([left, right, anEvent('left 2', { branch: 'fan.left' })])).toBe('right\n\nleft 2');
    expect(textOf([left, anEvent('left 2', { branch: 'fan.left' })])).toBe('left 2');
    expect(textOf([anEvent('before'), left, right])).toBe('left 1\n\nright');
  });
});

describe('parsing', () => {
  it('reads fields with underscores, and the role of other servers', () => {
    const read = (event: object) => {
      const events = parseEvents(JSON.stringify([event]));
      if (!events.ok) throw new Error(events.problem.sentence);
      return readAnswer(events.value);
    };
    expect(read({ author: 'a', error_code: 'SAFETY', error_message: 'no' })).toMatchObject({
      kind: 'failed',
      code: 'SAFETY',
      reason: 'no',
    });
    const content = { role: 'assistant', parts: [{ text: 'hello' }] };
    expect(read({ author: 'a', invocation_id: 'e-1', content })).toMatchObject({
      ...{ kind: 'text', text: 'hello', invocationId: 'e-1' },
    });
    const called = { content: { role: 'model', parts: [{ function_call: { name: 'pay' } }] } };
    expect(read({ ...called, author: 'a', error_code: 503 })).toMatchObject({ isRepeatable: false });
  });

  it('treats null as no events, and accepts unknown fields and null values', () => {
    expect(parseEvents('null')).toEqual({ ok: true, value: [] });
    expect(parseEvents('[{"content":null,"branch":null,"somethingNew":{"x":1}}]').ok).toBe(true);
  });

  it('names the path of an invalid field', () => {
    expect(parseEvents('[{},{"content":{"parts":[{"text":5}]}}]')).toMatchObject({
      ok: false,
      problem: { sentence: expect.stringContaining('events[1].content.parts[0].text') },
    });
  });

  it.each([
    ['["a","b"]', ['a', 'b']],
    ['[{"name":"a","rootAgent":"x"}]', ['a']],
    ['{"apps":[{"name":"a"}]}', ['a']],
    ['<html>', []],
    ['{"detail":"no"}', []],
  ])('reads the apps of %s', (body, expected) => {
    expect(parseAppNames(body)).toEqual(expected);
  });

  it.each([
    [404, '{"error":"Session not found: undefined"}', true],
    [404, '{"detail":"Session not found"}', true],
    [404, 'failed to get session: not there', true],
    [404, `Agent 'session_helper' not found`, false],
    [500, 'Session not found', false],
  ])('distinguishes a missing session from other refusals: %i %s', (status, body, expected) => {
    expect(isSessionMissing(status, body)).toBe(expected);
  });

  it.each([
    [200, '{}', true],
    [409, 'x', true],
    [400, '{"error":"Session already exists: s"}', true],
    [400, 'Bad request', false],
    [404, 'x', false],
  ])('reports whether a session exists after creating it: %i %s', (status, body, expected) => {
    expect(isSessionThere(status, body)).toBe(expected);
  });
});

describe('runBody', () => {
  it('never mixes the two spellings in one body', () => {
    const run = { appName: 'a', userId: 'u', sessionId: 's', text: 'x', waMessageId: 'm' };
    expect(Object.keys(runBody('camel', run)).some((key) => key.includes('_'))).toBe(false);
    expect(Object.keys(runBody('snake', run)).some((key) => /[A-Z]/.test(key))).toBe(false);
  });
});
