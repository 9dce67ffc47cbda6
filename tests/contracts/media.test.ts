import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InboundMedia } from '../../router/src/core/messages/inbound-message.ts';
import { MAX_MEDIA_BYTES, type ReplyMedia } from '../../router/src/core/models.ts';
import type { NewReply } from '../../router/src/core/turns/turn.ts';
import {
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  describeStores,
  NODE,
  newClaimOf,
} from './adapters.ts';

const picture: InboundMedia = {
  kind: 'image',
  mimeType: 'image/png',
  sizeBytes: 512,
  reference: '{"key":"a secret"}',
};
const { reference, ...pictureInfo } = picture;

/** A reply with a file that contains each byte value, zero first. */
function aFile(accountId: string, bytes = Buffer.concat([Buffer.alloc(3), randomBytes(300)])): NewReply {
  const media: ReplyMedia = {
    kind: 'document',
    mimeType: 'application/pdf',
    fileName: 'sums.pdf',
    sizeBytes: bytes.length,
  };
  return { ...aReply(accountId, '5493777000111@s.whatsapp.net', 'the sums'), media, file: bytes };
}

describeStores('files in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  describe('of a message', () => {
    const withPicture = () => aMessage(accountId, aPerson(), { text: '/analyze', media: picture });

    it('are described in the turn and the message log, without their download reference', async () => {
      const stored = await stores.inbox.add(withPicture(), NODE);
      const turn = await stores.inbox.nextTurn(newClaimOf(stored));
      expect(turn?.message).toMatchObject({ text: '/analyze', media: pictureInfo });
      const row = await stores.log.message(stored.messageId);
      expect(row).toMatchObject({ text: '/analyze', media: pictureInfo });
      for (const shown of [turn, row, await stores.log.messages({ accountId, limit: 5 })]) {
        expect(JSON.stringify(shown)).not.toContain('secret');
      }
      expect(await stores.inbox.mediaReference(stored.messageId)).toBe(reference);
    });

    it('are absent from a text message', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      expect((await stores.inbox.nextTurn(newClaimOf(stored)))?.message).not.toHaveProperty('media');
      expect(await stores.inbox.mediaReference(stored.messageId)).toBeUndefined();
    });

    it('keep their download reference when the turn ends, until their author takes them back', async () => {
      const message = withPicture();
      const { messageId } = await stores.inbox.add(message, NODE);
      await stores.inbox.finishTurn(messageId, { state: 'ignored', reason: 'chat-paused', replies: [] });
      expect(await stores.inbox.mediaReference(messageId)).toBe(reference);
      expect(await stores.log.message(messageId)).toMatchObject({ media: pictureInfo, hasFile: true });
      const deletion = { ...message, waMessageId: `${message.waMessageId}-x`, media: undefined };
      await stores.inbox.add({ ...deletion, text: '', deletes: message.waMessageId }, NODE);
      expect(await stores.inbox.mediaReference(messageId)).toBeUndefined();
    });

    it('are not stored for a message that is never answered', async () => {
      const stored = await stores.inbox.add({ ...withPicture(), ignoredReason: 'own-message' }, NODE);
      expect(await stores.inbox.mediaReference(stored.messageId)).toBeUndefined();
      expect((await stores.log.message(stored.messageId))?.media).toBeUndefined();
    });

    it('are stored from the copy that can be decrypted', async () => {
      const message = withPicture();
      const first = { ...message, kind: 'undecryptable' as const, text: '', media: undefined };
      await stores.inbox.add({ ...first, ignoredReason: 'undecryptable' }, NODE);
      const stored = await stores.inbox.add(message, NODE);
      expect(await stores.inbox.mediaReference(stored.messageId)).toBe(reference);
    });
  });

  describe('of a reply', () => {
    async function queued(...replies: NewReply[]) {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const messageId = stored.messageId;
      const { replies: rows } = await stores.inbox.finishTurn(messageId, answered(replies));
      return { messageId, rows };
    }

    it('are stored with the turn, byte for byte, beside text replies', async () => {
      const [before, file, after] = [
        aReply(accountId, '5493777000111@s.whatsapp.net'),
        aFile(accountId),
        aReply(accountId, '5493777000111@s.whatsapp.net'),
      ];
      const { messageId, rows } = await queued(before, file, after);
      expect(rows.map((row) => row.message)).toEqual([
        before,
        { ...file, file: undefined, media: file.media },
        after,
      ]);
      const [first, second] = rows;
      expect(await stores.outbox.fileOf(first?.outboxId ?? '')).toBeUndefined();
      const found = await stores.outbox.fileOf(second?.outboxId ?? '');
      expect(Buffer.from(found?.bytes ?? [])).toEqual(file.file);
      expect(found).not.toHaveProperty('content');
      expect(await stores.outbox.undelivered(accountId, { limit: 9 })).toEqual(rows);
      const shown = await stores.log.message(messageId);
      expect(shown?.replies[1]).toMatchObject({ text: 'the sums', media: file.media });
      expect(shown?.replies[1]).not.toHaveProperty('file');
    });

    it('are the same when the turn is ended twice', async () => {
      const { messageId, rows } = await queued(aFile(accountId));
      const again = await stores.inbox.finishTurn(messageId, answered([aFile(accountId)]));
      expect(again.replies).toEqual(rows);
    });

    it('keep the first upload for later sends and for a phone that requests the message again', async () => {
      const file = aFile(accountId);
      const { rows } = await queued(file);
      const outboxId = rows[0]?.outboxId ?? '';
      const content = randomBytes(200);
      expect(Buffer.from(await stores.outbox.keepContent(outboxId, content))).toEqual(content);
      expect(Buffer.from(await stores.outbox.keepContent(outboxId, randomBytes(200)))).toEqual(content);
      const found = await stores.outbox.findByWaId(accountId, file.waMessageId);
      expect(found?.message).toMatchObject({ waMessageId: file.waMessageId, media: file.media });
      expect(Buffer.from(found?.content ?? [])).toEqual(content);
      expect(Buffer.from((await stores.outbox.fileOf(outboxId))?.content ?? [])).toEqual(content);
    });

    it('can be as large as the limit', async () => {
      const { rows } = await queued(aFile(accountId, Buffer.alloc(MAX_MEDIA_BYTES, 7)));
      const found = await stores.outbox.fileOf(rows[0]?.outboxId ?? '');
      expect(found?.bytes.length).toBe(MAX_MEDIA_BYTES);
    });
  });
});
