import { describe, expect, it } from 'vitest';
import { AdkStream } from '../../../../../router/src/infra/agents/adk/adk-run.ts';
import { anEvent } from '../../../../support/adk-requests.ts';

/** What is shown of these events, and the stream after them. */
function read(events: object[]) {
  const shown: string[] = [];
  const stream = new AdkStream((textSoFar) => shown.push(textSoFar()));
  for (const event of events) stream.add(typeof event === 'string' ? event : JSON.stringify(event));
  return { shown, stream };
}

const partial = (text: string, changes: object = {}) => anEvent(text, { partial: true, ...changes });

describe('AdkStream', () => {
  it('shows the partial events together, then the complete one, and keeps only that', () => {
    const { shown, stream } = read([partial('one '), partial('two'), anEvent('one two.')]);
    expect(shown).toEqual(['one ', 'one two', 'one two.']);
    expect(stream.events).toMatchObject([{ content: { parts: [{ text: 'one two.' }] } }]);
  });

  it('knows that a stream ended in the middle of a reply', () => {
    expect(read([partial('one ')]).stream.isCut).toBe(true);
    expect(read([partial('one '), anEvent('one two.')]).stream.isCut).toBe(false);
    expect(read([]).stream.isCut).toBe(false);
  });

  it('begins again after a tool call', () => {
    const { shown } = read([
      partial('Let me look.'),
      anEvent('Let me look.'),
      partial('It is '),
      partial('warm'),
    ]);
    expect(shown).toEqual(['Let me look.', 'Let me look.', 'It is ', 'It is warm']);
  });

  it('shows neither thoughts, nor what the person said, nor parallel branches', () => {
    const thought = { content: { role: 'model', parts: [{ text: 'secret', thought: true }] } };
    const { shown } = read([
      partial('', thought),
      anEvent('hi', { author: 'user' }),
      partial('left', { branch: 'fanout.left' }),
    ]);
    expect(shown).toEqual([]);
  });

  it('knows a run that failed', () => {
    const { stream } = read([partial('one'), { error: 'the model is gone' }]);
    expect(stream.failure).toBe('{"error":"the model is gone"}');
  });

  it('knows an event that cannot be read', () => {
    expect(read([{ content: 5 }]).stream.problem?.sentence).toMatch(
      /^events\[0\]\.content is not what ADK sends/,
    );
    expect(read(['nonsense' as unknown as object]).stream.problem?.sentence).toBe('the answer is not JSON');
  });
});
