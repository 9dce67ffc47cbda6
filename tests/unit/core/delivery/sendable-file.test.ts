import { describe, expect, it } from 'vitest';
import { isVoiceNote, sendableFile } from '../../../../router/src/core/delivery/agent-file.ts';
import type { MediaKind } from '../../../../router/src/core/models.ts';
import { MP3, MP4, opusFile, PNG, WEBP } from '../../../support/sounds.ts';

const pdf = Buffer.from('%PDF-1.7 and so on');

describe('sendableFile', () => {
  it.each<[MediaKind, Uint8Array, string]>([
    ['image', PNG, 'image/png'],
    ['video', MP4, 'video/mp4'],
    ['audio', MP3, 'audio/mpeg'],
    ['audio', MP4, 'audio/mp4'],
    ['voice', opusFile(), 'audio/ogg; codecs=opus'],
    ['sticker', WEBP, 'image/webp'],
    ['document', pdf, 'application/pdf'],
  ])('takes as %s a file by its bytes, whatever type its sender names', (kind, bytes, mimeType) => {
    expect(sendableFile(kind, { bytes, mimeType: 'text/html' })).toEqual({ kind, mimeType, bytes });
  });

  it.each<[MediaKind, Uint8Array, string]>([
    [
      'image',
      pdf,
      'The file is no JPEG or PNG picture. Send another format as a document (it is application/pdf).',
    ],
    [
      'image',
      Buffer.from('<html>'),
      'The file is no JPEG or PNG picture. Send another format as a document.',
    ],
    ['video', MP3, 'The file is no MP4 or 3GP video'],
    ['audio', PNG, 'The file is no MP3, M4A, AAC, AMR or OGG (Opus) file'],
    ['voice', MP3, 'The file is no Opus sound in an OGG file (it is audio/mpeg).'],
    ['voice', opusFile().subarray(0, 200), 'The OGG file is damaged.'],
    ['sticker', PNG, 'The file is no WebP picture (it is image/png).'],
    ['sticker', Buffer.concat([WEBP, Buffer.alloc(1_000_000)]), 'The file is larger than 1 MB.'],
    ['document', Buffer.alloc(10_000_001), 'The file is larger than 10 MB.'],
    ['document', new Uint8Array(), 'The file is empty.'],
  ])('refuses as %s what cannot be shown as one', (kind, bytes, sentence) => {
    expect(() => sendableFile(kind, { bytes, mimeType: 'image/png' })).toThrow(
      expect.objectContaining({ code: 'FILE_REFUSED', message: expect.stringContaining(sentence) }),
    );
  });

  it('names a document, and takes its type from its sender only when its bytes say nothing', () => {
    const bytes = Buffer.from('a,b\n1,2\n');
    const given = { bytes, mimeType: 'text/csv; charset=utf-8', fileName: 'a/b\n.csv' };
    expect(sendableFile('document', given)).toMatchObject({ mimeType: 'text/csv', fileName: 'a_b_.csv' });
    expect(sendableFile('document', { bytes, mimeType: 'nonsense' }).mimeType).toBe(
      'application/octet-stream',
    );
    expect(sendableFile('document', { bytes: PNG, mimeType: 'text/csv' }).mimeType).toBe('image/png');
  });
});

describe('isVoiceNote', () => {
  it('is true for Opus in OGG only', () => {
    expect([opusFile(), MP3, opusFile().subarray(0, 200)].map(isVoiceNote)).toEqual([true, false, false]);
  });
});
