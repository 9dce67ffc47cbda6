import { describe, expect, it } from 'vitest';
import { mediaColumns } from '../../../../../router/src/infra/db/stores/postgres-inbox.ts';
import { filesJson } from '../../../../../router/src/infra/db/stores/postgres-message-files.ts';

const reply = { accountId: 'a', to: '5493777000111@s.whatsapp.net', waMessageId: '3EB0', text: '' };

describe('mediaColumns', () => {
  it('separates the reference, which is stored encrypted, from the rest', () => {
    const info = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
    expect(mediaColumns({ ...info, reference: '{"key":"a\0b"}' })).toEqual({
      info,
      reference: '{"key":"ab"}',
    });
  });

  it('is undefined for a message without a file', () => {
    expect(mediaColumns(undefined)).toBeUndefined();
  });
});

describe('filesJson', () => {
  const media = {
    kind: 'document' as const,
    mimeType: 'text/plain',
    fileName: 'a\0\ud800.txt',
    sizeBytes: 2,
  };

  it('is null when no reply has a file', async () => {
    expect(await filesJson([], undefined)).toBeNull();
    expect(await filesJson([reply, { ...reply, text: 'hello' }], undefined)).toBeNull();
  });

  it('has one entry for each reply, in order, and null for a reply of text', async () => {
    const json = await filesJson([reply, { ...reply, media, file: Buffer.from('hi') }], undefined);
    expect(JSON.parse(json ?? '')).toEqual([
      null,
      {
        media: { kind: 'document', mimeType: 'text/plain', fileName: 'a\ufffd.txt', sizeBytes: 2 },
        bytes: Buffer.from('hi').toString('base64'),
      },
    ]);
  });

  it('contains only the bytes of the file when they are part of a larger buffer', async () => {
    const whole = new TextEncoder().encode('before-file-after');
    const json = await filesJson([{ ...reply, media, file: whole.subarray(7, 11) }], undefined);
    expect(Buffer.from(JSON.parse(json ?? '')[0].bytes, 'base64').toString()).toBe('file');
  });

  it('leaves out a file name that the reply does not have', async () => {
    const { fileName: _, ...unnamed } = media;
    const [entry] = JSON.parse(
      (await filesJson([{ ...reply, media: unnamed, file: new Uint8Array() }], undefined)) ?? '',
    );
    expect(entry).toEqual({ media: unnamed, bytes: '' });
  });

  it('names the place of a file that a store took, without its bytes', async () => {
    const stored = { store: 's3' as const, location: 'ab/cd' };
    const files = { save: async () => stored, load: () => Promise.reject(new Error('nothing is read')) };
    const json = await filesJson([{ ...reply, media, file: Buffer.from('hi') }], files);
    expect(JSON.parse(json ?? '')).toEqual([{ media: expect.anything(), ...stored }]);
  });
});
