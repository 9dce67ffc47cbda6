import { describe, expect, it } from 'vitest';
import type { Received, Sent } from '../../../../console/src/conversation/chat-types.ts';
import { timelineOf } from '../../../../console/src/conversation/timeline.ts';

const at = (ms: number) => new Date(Date.parse('2026-01-02T03:04:05.000Z') + ms).toISOString();
const time = (ms: number) => Date.parse(at(ms));

const common = { accountId: 'default', channelId: '34600000001', chatId: '7', attempts: 1 };

function received(change: Partial<Received> = {}): Received {
  return {
    ...common,
    direction: 'incoming',
    id: '10',
    waMessageId: 'IN10',
    from: '34600000001@s.whatsapp.net',
    kind: 'text',
    text: 'hello',
    state: 'answered',
    sentAt: at(-400),
    receivedAt: at(0),
    finishedAt: at(900),
    ...change,
  };
}

function sent(id: string, change: Partial<Sent> = {}): Sent {
  return {
    ...common,
    direction: 'outgoing',
    id,
    waMessageId: `OUT${id}`,
    messageId: '10',
    text: 'answer',
    state: 'read',
    queuedAt: at(900),
    ...change,
  };
}

const rule = (routeId: string, outcome: string) => ({ routeId, name: routeId, channelId: '*', outcome });
const agent = (attempts: object[], outcome = 'answered') => ({
  step: 'agent',
  routeId: 'r2',
  outcome,
  attempts,
});

/** The rows as short words. */
const rowsOf = (turn: Received, messages: Array<Received | Sent> = []) =>
  timelineOf(turn, [turn, ...messages]).rows.map((row) => {
    if (row.kind === 'step') return row.step.title;
    if (row.kind === 'waited') return `waited ${row.why.join(' ')}`;
    return row.kind;
  });

describe('the timeline of a message', () => {
  it('is in the order in which it went, with the rules in one row', () => {
    const trace = [
      rule('r1', 'no-match'),
      rule('r2', 'chosen'),
      rule('r3', 'not-reached'),
      { step: 'group', outcome: 'addressed' },
      agent([{ attempt: 1, at: at(100), agentMs: 700 }]),
      { outcome: 'called', function: 'ask' },
      { step: 'reply', outcome: 'split' },
    ];
    const turn = received({ trace });
    const replies = [sent('12', { ackedAt: at(1_000) }), sent('11', { ackedAt: at(950), readAt: at(9_000) })];
    const kinds = ['received', 'waited turn', 'route', 'group', 'agent', 'reply', 'result', 'reply', 'reply'];
    expect(rowsOf(turn, replies)).toEqual(kinds);
    const { rows, beginMs, endMs } = timelineOf(turn, replies);
    expect([beginMs, endMs]).toEqual([time(0), time(1_000)]);
    expect(rows[1]).toMatchObject({ atMs: time(0), endMs: time(100) });
    expect(rows[2]).toMatchObject({
      chosen: { title: 'r2' },
      others: [{ title: 'r1' }, { title: 'r3' }],
    });
    expect(rows[4]).toMatchObject({ calls: [{ kind: 'call' }], isLast: true });
    expect(rows.slice(-2)).toMatchObject([{ reply: { id: '11' } }, { reply: { id: '12' } }]);
  });

  it('has the answers that come with the message, each once', () => {
    const turn = received({ replies: [sent('11'), sent('12')] });
    const rows = timelineOf(turn, [turn, sent('11', { state: 'dead' })]).rows;
    expect(rows.slice(-2)).toMatchObject([{ reply: { id: '11', state: 'dead' } }, { reply: { id: '12' } }]);
  });

  const earlier = (change: Partial<Received>) => [received({ id: '9', ...change })];
  const step = (name: string) => [{ step: name, outcome: 'done' }];
  it.each([
    ['an earlier message had no answer yet', [], 1, earlier({ finishedAt: at(50) }), 'earlier'],
    ['an earlier message has none', [], 1, earlier({ state: 'received', finishedAt: undefined }), 'earlier'],
    ['the person was writing', step('pace'), 1, [], 'lines'],
    ['a voice message was heard', step('transcribe'), 1, [], 'voice'],
    ['it was replayed', [], 3, [], 'again'],
    ['an earlier message was answered before', [], 1, earlier({ finishedAt: at(-1) }), 'turn'],
  ])('says that it waited because %s', (_, steps, attempt, before, why) => {
    const trace = [...steps, agent([{ attempt, at: at(100), agentMs: 1 }])];
    expect(rowsOf(received({ trace }), before)).toContain(`waited ${why}`);
  });

  it('says that a message was written long before, and that one waits', () => {
    expect(timelineOf(received({ sentAt: at(-5_000) }), []).rows[0]).toMatchObject({ lateMs: 5_000 });
    expect(timelineOf(received(), []).rows[0]).not.toHaveProperty('lateMs');
    expect(rowsOf(received({ state: 'received', finishedAt: undefined }))).toEqual([
      'received',
      'waited turn',
    ]);
  });

  it('has a row for the route when no rule took it, and none without a trace', () => {
    const [, route] = timelineOf(received({ trace: [rule('r1', 'no-match')] }), []).rows;
    expect(route).toMatchObject({ kind: 'route', others: [{ title: 'r1' }] });
    expect(route).not.toHaveProperty('chosen');
    expect(rowsOf(received({ trace: undefined }))).toEqual(['received', 'result']);
  });

  it('has both agents of a fallback', () => {
    const trace = [
      rule('r2', 'chosen'),
      agent([{ attempt: 1, at: at(1), agentMs: 1 }], 'AGENT_TIMEOUT'),
      { step: 'fallback-route', outcome: 'called' },
      { ...agent([{ attempt: 2, at: at(5), agentMs: 1 }]), routeId: 'r3' },
    ];
    const agents = timelineOf(received({ trace }), []).rows.filter(({ kind }) => kind === 'agent');
    expect(agents).toMatchObject([{ isLast: false }, { isLast: true }]);
  });
});
