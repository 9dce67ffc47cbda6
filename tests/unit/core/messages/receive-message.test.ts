import { describe, expect, it } from 'vitest';
import { chatHash, jidHash } from '../../../../router/src/core/chat-id.ts';
import { receiveMessage } from '../../../../router/src/core/cluster/account-events.ts';
import type { ChatClaim } from '../../../../router/src/core/ports/inbox.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const person = { phone: '5493777000001' };

function setup() {
  const served: Array<{ claim: ChatClaim; isRepeat: boolean }> = [];
  const turns: Array<string | undefined> = [];
  const stopped: string[] = [];
  const log = recordingLog();
  const workers = {
    nodeForNextChat: () => 'n2',
    serve: (claim: ChatClaim, isRepeat: boolean, { turn }: { turn?: PendingTurn } = {}) => {
      served.push({ claim, isRepeat });
      turns.push(turn?.message.text);
    },
    stopTurn: ({ chatId }: ChatClaim) => void stopped.push(chatId),
  };
  const inbox = new MemoryInbox(new MemoryState());
  return { served, turns, stopped, log, receive: receiveMessage.bind(undefined, { inbox, workers, log }) };
}

describe('receiveMessage', () => {
  it('claims a chat for the node with the fewest turns, and serves it', async () => {
    const { served, receive } = setup();
    await receive(aMessage('a', person));
    expect(served).toEqual([{ claim: { chatId: '1', node: 'n2', epoch: 1 }, isRepeat: false }]);
  });

  it('serves a chat again with each further message, and with one that is known', async () => {
    const { served, receive } = setup();
    const message = aMessage('a', person);
    for (const each of [message, aMessage('a', person), message]) await receive(each);
    expect(served.map(({ claim, isRepeat }) => [claim.epoch, isRepeat])).toEqual([
      [1, false],
      [1, true],
      [1, true],
    ]);
  });

  it('passes the message on when no other one of its chat is unanswered', async () => {
    const { turns, receive } = setup();
    await receive(aMessage('a', person, { text: 'first' }));
    await receive(aMessage('a', person, { text: 'second' }));
    expect(turns).toEqual(['first', undefined]);
  });

  it('stops the turn of a chat whose person writes /stop, in a group only when it is addressed to us', async () => {
    const { stopped, receive } = setup();
    await receive(aMessage('a', person, { text: '/stop' }));
    expect(stopped).toEqual([]);
    await receive(aMessage('a', person, { text: ' /STOP ' }));
    expect(stopped).toEqual(['1']);
    const group = { chat: { kind: 'group' as const, groupId: '120363000000000001' }, text: '/stop' };
    for (const toUs of [undefined, undefined, 'mention'] as const)
      await receive(aMessage('a', person, { ...group, toUs }));
    expect(stopped).toHaveLength(2);
  });

  it('serves no chat for a message that is stored and never answered', async () => {
    const { served, receive } = setup();
    await receive(aMessage('a', person, { ignoredReason: 'own-message' }));
    expect(served).toEqual([]);
  });

  it('logs the stored id, the WhatsApp id and the chat, and no address', async () => {
    const { log, receive } = setup();
    await receive(aMessage('a', person, { waMessageId: 'IN1' }));
    expect(log.lines).toMatchObject([
      { message: 'message received', fields: { messageId: '2', waMessageId: 'IN1', outcome: 'stored' } },
    ]);
    const jid = `${person.phone}@s.whatsapp.net`;
    expect(log.lines[0]?.fields).toMatchObject({ chat: chatHash('1'), jidHash: jidHash('a', jid) });
    expect(JSON.stringify(log.lines)).not.toContain(person.phone);
  });
});
