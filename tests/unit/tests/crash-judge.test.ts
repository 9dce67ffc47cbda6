import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '../../crash/chats.ts';
import { judge, type Verdict } from '../../crash/judge.ts';
import type { Person } from '../../whatsapp-emulator/person.ts';
import type { TranscriptEntry } from '../../whatsapp-emulator/transcript.ts';

const ANA = '34600000002@s.whatsapp.net';
const BO = '34600000003@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

/** The judge reads nothing of a person but the address. */
const person = (pn: string) => ({ pn }) as Person;
const direct: Chat = { name: 'ana', kind: 'number', key: ANA, to: 'x', people: [person(ANA)] };
const group: Chat = { name: 'team', kind: 'group', key: GROUP, to: GROUP, people: [person(ANA), person(BO)] };

let entries: TranscriptEntry[];

beforeEach(() => {
  entries = [];
});

function add(kind: TranscriptEntry['kind'], id: string, fields: Partial<TranscriptEntry> = {}): void {
  const seq = entries.length + 1;
  entries.push({ seq, atMs: seq, kind, id, account: 'a', person: ANA, chat: ANA, ...fields });
}

const says = (id: string, text: string, fields = {}) => add('in', id, { text, ...fields });
const reads = (id: string, text: string | undefined, fields = {}) =>
  add('read', id, { text, detail: text === undefined ? 'unreadable: Bad MAC' : 'read', ...fields });
const verdictOn = (...chats: Chat[]): Verdict => judge({ transcript: () => entries }, chats);

describe('the judge', () => {
  it('is content with one answer to each message, in order, in front of everyone', () => {
    says('q1', 'one');
    says('q2', 'two');
    reads('r1', 'Echo: one');
    reads('r2', 'Echo: two');
    says('q3', 'all', { chat: GROUP });
    for (const reader of [ANA, BO]) reads('r3', 'Echo: all', { chat: GROUP, person: reader });
    expect(verdictOn(direct, group)).toMatchObject({ isGood: true, messages: 3, repeats: 0 });
  });

  it('takes the same bubble for one, however often it was sent', () => {
    says('q1', 'one');
    reads('r1', 'Echo: one');
    reads('r1', 'Echo: one', { detail: 'repeat' });
    expect(verdictOn(direct)).toMatchObject({ isGood: true, repeats: 1, twice: [] });
  });

  it('complains of a message without an answer, also when one reader of a group lacks it', () => {
    says('q1', 'all', { chat: GROUP });
    reads('r1', 'Echo: all', { chat: GROUP, person: BO });
    expect(verdictOn(group)).toMatchObject({ isGood: false, unanswered: [{ reader: ANA, text: 'all' }] });
  });

  it('complains of two bubbles with one answer', () => {
    says('q1', 'one');
    reads('r1', 'Echo: one');
    reads('r2', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isGood: false, twice: [{ ids: ['q1', 'r1', 'r2'] }] });
  });

  it('complains of an answer after that to a later message, and names both', () => {
    says('q1', 'one');
    says('q2', 'two');
    reads('r2', 'Echo: two');
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({
      isGood: false,
      outOfOrder: [{ text: 'Echo: one', ids: ['r1', 'r2', 'q2'] }],
    });
  });

  it('complains of an answer to nothing', () => {
    reads('r1', 'Echo: what nobody said');
    expect(verdictOn(direct)).toMatchObject({ isGood: false, unexpected: [{ ids: ['r1'] }] });
  });

  it('complains of a reply that was never readable, and counts one that was in the end', () => {
    says('q1', 'one');
    reads('r1', undefined);
    expect(verdictOn(direct)).toMatchObject({ isGood: false, unreadable: [{ ids: ['r1'] }] });
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isGood: true, healed: 1, unreadable: [] });
  });

  it('complains of a message that the service could not decrypt', () => {
    says('q1', 'one');
    add('receipt', 'q1', { detail: 'retry' });
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isGood: false, askedAgain: [{ ids: ['q1'] }] });
  });
});
