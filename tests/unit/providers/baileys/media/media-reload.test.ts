import { EventEmitter } from 'node:events';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { proto } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  changeReference,
  readReference,
  reloadFile,
  writeReference,
} from '../../../../../router/src/providers/baileys/media/media.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { encryptFile, sealRetry } from '../../../../whatsapp-emulator/media-crypto.ts';

const { encrypted: _, ...file } = encryptFile(Buffer.from('a picture'), 'image');
const message = { id: '3EB0AA', remoteJid: '34600111222@s.whatsapp.net' };
const reference = changeReference(writeReference('image', { ...file, directPath: '/old' }), { message });

let ev: EventEmitter;
let asked: BinaryNode[];
let clock: FakeClock;

beforeEach(() => {
  ev = new EventEmitter();
  asked = [];
  clock = new FakeClock(0);
});

function reload(from = reference) {
  // Only the events and the send method of the socket are used.
  const socket = {
    ev: ev as unknown as Parameters<typeof reloadFile>[1]['ev'],
    sendNode: async (node: BinaryNode) => {
      asked.push(node);
    },
  };
  return reloadFile(from, socket, { clock, ownJid: '34900111222:7@s.whatsapp.net' });
}

function answer(id: string, notice: proto.IMediaRetryNotification) {
  const { ciphertext, iv } = sealRetry(
    proto.MediaRetryNotification.encode(notice).finish(),
    file.mediaKey,
    id,
  );
  ev.emit('messages.media-update', [{ key: { id }, media: { ciphertext, iv } }]);
}

const { SUCCESS, NOT_FOUND } = proto.MediaRetryNotification.ResultType;

describe('a file that WhatsApp deleted', () => {
  it('is requested from the own phone, and its reference has the new path', async () => {
    const fresh = reload();
    await settle();
    expect(asked).toMatchObject([
      { tag: 'receipt', attrs: { id: message.id, to: '34900111222@s.whatsapp.net', type: 'server-error' } },
    ]);
    answer('another', { stanzaId: 'another', directPath: '/other', result: SUCCESS });
    answer(message.id, { stanzaId: message.id, directPath: '/new', result: SUCCESS });
    expect(readReference(await fresh)).toMatchObject({ path: '/new', mediaKey: file.mediaKey });
    expect(ev.listenerCount('messages.media-update')).toBe(0);
  });

  it.each<[string, () => void]>([
    ['the phone does not have it', () => answer(message.id, { stanzaId: message.id, result: NOT_FOUND })],
    [
      'the phone refuses',
      () => ev.emit('messages.media-update', [{ key: { id: message.id }, error: new Error('no') }]),
    ],
    [
      'its new path is invalid',
      () => answer(message.id, { stanzaId: message.id, directPath: 'x', result: SUCCESS }),
    ],
  ])('is gone when %s', async (_name, end) => {
    const fresh = expect(reload()).rejects.toMatchObject({ code: 'MEDIA_GONE', disposition: 'dead' });
    await settle();
    end();
    await fresh;
    expect(ev.listenerCount('messages.media-update')).toBe(0);
  });

  it('is gone when the phone does not respond in time, and no listener remains', async () => {
    const fresh = expect(reload()).rejects.toThrow('did not answer');
    await settle();
    await clock.advanceMs(15_000);
    await fresh;
    expect(ev.listenerCount('messages.media-update')).toBe(0);
  });

  it('is gone when the message is not known', async () => {
    await expect(reload(writeReference('image', { ...file, directPath: '/old' }))).rejects.toThrow(
      'the id of its message is unknown',
    );
    expect(asked).toEqual([]);
  });
});
