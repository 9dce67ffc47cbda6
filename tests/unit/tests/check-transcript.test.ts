import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '../../crash/chats.ts';
import { checkTranscript, type TranscriptCheck } from '../../crash/check-transcript.ts';
import type { Person } from '../../whatsapp-emulator/person.ts';
import type { TranscriptEntry } from '../../whatsapp-emulator/transcript.ts';

const ANA = '34600000002@s.whatsapp.net';
const BO = '34600000003@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

/** The check uses only the address of a person. */
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
const verdictOn = (...chats: Chat[]): TranscriptCheck =>
  checkTranscript({ transcript: () => entries }, chats);

describe('checkTranscript', () => {
  it('passes when each reader sees one reply to each message, in order', () => {
    says('q1', 'one');
    says('q2', 'two');
    reads('r1', 'Echo: one');
    reads('r2', 'Echo: two');
    says('q3', 'all', { chat: GROUP });
    for (const reader of [ANA, BO]) reads('r3', 'Echo: all', { chat: GROUP, person: reader });
    expect(verdictOn(direct, group)).toMatchObject({ isPassed: true, messages: 3, repeats: 0 });
  });

  it('counts a reply to several lines as the answer to each, and reactions as none', () => {
    for (const text of ['one', 'two', 'three']) says(text, text);
    add('read', 'x1', { detail: 'reaction' });
    reads('r1', 'Echo: one\ntwo');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, unanswered: [{ text: 'three' }] });
    reads('r2', 'Echo: three');
    expect(verdictOn(direct)).toMatchObject({ isPassed: true, messages: 3 });
    reads('r3', 'Echo: two\nwhat nobody said');
    expect(verdictOn(direct)).toMatchObject({
      twice: [{ text: 'two' }],
      outOfOrder: [{ ids: ['r3', 'r2', 'three'] }],
      unexpected: [{ ids: ['r3'] }],
    });
  });

  it('wants an answer to the last text of a question, and takes one to a former text before it', () => {
    says('q1', 'on');
    says('q1e', 'one', { changes: 'q1' });
    says('q2', 'two');
    reads('r1', 'Echo: on');
    expect(verdictOn(direct)).toMatchObject({ messages: 2, unanswered: [{ text: 'one' }, { text: 'two' }] });
    reads('r2', 'Echo: one');
    reads('r3', 'Echo: two');
    expect(verdictOn(direct)).toMatchObject({ isPassed: true });
    reads('r4', 'Echo: on');
    expect(verdictOn(direct)).toMatchObject({
      twice: [{ ids: ['q1', 'r2'] }],
      outOfOrder: [{ ids: ['r4', 'r3', 'q2'] }],
    });
  });

  it('takes the last edit of a message for its text, and a deleted message for none', () => {
    const edits = (of: string, text: string | undefined) =>
      add('read', `e${entries.length}`, { text, detail: 'read', isChange: true, changes: of });
    says('q1', 'one');
    reads('r1', 'Echo:');
    edits('r1', 'Echo: on');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, unanswered: [{ text: 'one' }] });
    edits('r1', 'Echo: one');
    reads('r2', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, twice: [{ text: 'one' }] });
    edits('r2', undefined);
    expect(verdictOn(direct)).toMatchObject({ isPassed: true, repeats: 0 });
    reads('e9', undefined, { isChange: true });
    expect(verdictOn(direct)).toMatchObject({ isPassed: true });
  });

  it('counts a reply that was sent repeatedly with the same id once', () => {
    says('q1', 'one');
    reads('r1', 'Echo: one');
    reads('r1', 'Echo: one', { detail: 'repeat' });
    expect(verdictOn(direct)).toMatchObject({ isPassed: true, repeats: 1, twice: [] });
  });

  it('reports a message without a reply, also when only one reader of a group lacks it', () => {
    says('q1', 'all', { chat: GROUP });
    reads('r1', 'Echo: all', { chat: GROUP, person: BO });
    expect(verdictOn(group)).toMatchObject({ isPassed: false, unanswered: [{ reader: ANA, text: 'all' }] });
  });

  it('reports a reply shown in two bubbles', () => {
    says('q1', 'one');
    reads('r1', 'Echo: one');
    reads('r2', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, twice: [{ ids: ['q1', 'r1', 'r2'] }] });
  });

  it('reports a reply after the reply to a later message, with both ids', () => {
    says('q1', 'one');
    says('q2', 'two');
    reads('r2', 'Echo: two');
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({
      isPassed: false,
      outOfOrder: [{ text: 'Echo: one', ids: ['r1', 'r2', 'q2'] }],
    });
  });

  it('reports a reply without a message', () => {
    reads('r1', 'Echo: what nobody said');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, unexpected: [{ ids: ['r1'] }] });
  });

  it('reports a reply that stayed unreadable, and counts one that became readable', () => {
    says('q1', 'one');
    reads('r1', undefined);
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, unreadable: [{ ids: ['r1'] }] });
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isPassed: true, readAfterRetry: 1, unreadable: [] });
  });

  it('reports a message that the service could not decrypt', () => {
    says('q1', 'one');
    add('receipt', 'q1', { detail: 'retry' });
    reads('r1', 'Echo: one');
    expect(verdictOn(direct)).toMatchObject({ isPassed: false, requestedAgain: [{ ids: ['q1'] }] });
  });
});
