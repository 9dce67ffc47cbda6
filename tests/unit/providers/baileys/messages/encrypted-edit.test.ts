import { proto, type WAMessage } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OriginalMessage } from '../../../../../router/src/core/ports/inbox.ts';
import {
  encryptedEditOf,
  openEdit,
} from '../../../../../router/src/providers/baileys/messages/encrypted-edit.ts';
import { runs } from '../../../../support/property-runs.ts';
import { encryptedChange, encryptedEdit } from '../../../../whatsapp-emulator/message-content.ts';

const ana = { phone: '34600000001', lid: '71000000000001' };
const jids = { phone: `${ana.phone}@s.whatsapp.net`, lid: `${ana.lid}@lid` };
const secret = Buffer.alloc(32, 7);
const original: OriginalMessage = { sender: ana, isOfSender: true, isDecrypted: true, secret };
const byLid = { id: '3EB0ORIGINAL', secret, author: jids.lid };

/** As WhatsApp brings it. */
function received(message: proto.IMessage) {
  const wire = proto.Message.decode(proto.Message.encode(message).finish());
  const edit = encryptedEditOf({ key: {}, message: wire } as WAMessage);
  if (!edit) throw new Error('the message is no encrypted edit');
  return edit;
}

function opened(message: proto.IMessage, from: OriginalMessage | undefined = original, editor: object = ana) {
  const result = openEdit(received(message), from, editor);
  return 'step' in result ? result.step.outcome : result.message.protocolMessage?.editedMessage;
}

const known = fc.constantFrom({}, { phone: ana.phone }, { lid: ana.lid }, ana);
const address = fc.constantFrom('phone' as const, 'lid' as const);

describe('openEdit', () => {
  it('opens an edit by each address of author and editor that the stanza or the stored message names', () => {
    fc.assert(
      fc.property(
        fc.record({ author: address, editor: address, stanza: known, stored: known }),
        fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
        ({ author, editor, stanza, stored }, text) => {
          const edit = encryptedEdit({ ...byLid, author: jids[author] }, jids[editor], text);
          const names = { ...stanza, ...stored };
          const isOpened = author in names && editor in names;
          expect(
            opened(edit, { sender: stored, isOfSender: true, isDecrypted: true, secret }, stanza),
          ).toEqual(isOpened ? expect.objectContaining({ conversation: text }) : 'not-decrypted');
        },
      ),
      runs(300),
    );
  });

  it('gives the edit the form of a plain one of the message that the stanza names', () => {
    const result = openEdit(received(encryptedEdit(byLid, jids.lid, 'new')), original, ana);
    expect(result).toMatchObject({
      message: {
        protocolMessage: { type: 14, key: { id: byLid.id }, editedMessage: { conversation: 'new' } },
      },
    });
  });

  it('says why an edit is not read', () => {
    const edit = encryptedEdit(byLid, jids.lid, 'new');
    expect(openEdit(received(edit), undefined, ana)).toMatchObject({ step: { outcome: 'no-original' } });
    expect(opened(edit, { ...original, isOfSender: false })).toBe('other-author');
    expect(opened(edit, { sender: ana, isOfSender: true, isDecrypted: true })).toBe('no-secret');
    expect(opened(edit, { ...original, secret: Buffer.alloc(32, 8) })).toBe('not-decrypted');
    for (const secretEncType of [0, 3, 5, 99]) {
      expect(opened({ secretEncryptedMessage: { ...edit.secretEncryptedMessage, secretEncType } })).toBe(
        'unknown-kind',
      );
    }
    const nothing = { secretEncryptedMessage: { secretEncType: 2 } };
    expect(opened(nothing)).toBe('not-decrypted');
  });

  it('refuses what no message can be edited to: a deletion, a reaction, another encrypted edit, no content', () => {
    const contents: proto.IMessage[] = [
      { protocolMessage: { type: 0, key: { id: 'OTHER' } } },
      { reactionMessage: { text: '👍', key: { id: 'OTHER' } } },
      encryptedEdit(byLid, jids.lid, 'inner'),
      {},
    ];
    for (const content of contents) {
      const plaintext = proto.Message.encode(content).finish();
      expect(opened(encryptedChange(byLid, jids.lid, 'Message Edit', plaintext))).toBe('no-content');
    }
    const noise = Buffer.from('no protobuf of WhatsApp');
    expect(opened(encryptedChange(byLid, jids.lid, 'Message Edit', noise))).toBe('no-content');
  });

  it('opens edits of polls and events', () => {
    const poll = { pollCreationMessageV3: { name: 'When?', options: [{ optionName: 'Monday' }] } };
    const change = (use: 'Poll Edit' | 'Event Edit', bytes: Uint8Array) =>
      opened(encryptedChange(byLid, jids.lid, use, bytes));
    expect(change('Poll Edit', proto.Message.encode(poll).finish())).toMatchObject(poll);
    const eventMessage = { name: 'Dinner', isCanceled: true };
    const event = proto.Message.encode({ eventMessage }).finish();
    expect(change('Event Edit', event)).toMatchObject({ eventMessage });
    const alone = proto.Message.EventMessage.encode(eventMessage).finish();
    expect(change('Event Edit', alone)).toMatchObject({ eventMessage });
    expect(change('Event Edit', Buffer.from('x'))).toBe('no-content');
  });

  it('opens nothing of any bytes, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 20 }), (encPayload, encIv) => {
        const edit = { of: byLid.id, type: 2, encPayload, encIv };
        expect(openEdit(edit, original, ana)).toMatchObject({ step: { outcome: 'not-decrypted' } });
      }),
      runs(300),
    );
  });
});

describe('encryptedEditOf', () => {
  it('finds an edit inside of envelopes, and none in other messages', () => {
    const edit = encryptedEdit(byLid, jids.lid, 'new');
    expect(received({ ephemeralMessage: { message: edit } })).toMatchObject({ of: byLid.id, type: 2 });
    expect(encryptedEditOf({ key: {}, message: { conversation: 'x' } } as WAMessage)).toBeUndefined();
    expect(encryptedEditOf({ key: {} } as WAMessage)).toBeUndefined();
  });
});
