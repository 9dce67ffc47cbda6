import { describe, expect, it } from 'vitest';
import { detectMediaType } from '../../../../router/src/core/delivery/agent-file.ts';
import { MP3, MP4, opusFile, PNG, WEBP } from '../../../support/sounds.ts';

const ftyp = (brand: string) => Buffer.from(`\0\0\0\x20ftyp${brand}`, 'latin1');

describe('detectMediaType', () => {
  it.each<[string, Uint8Array, string | undefined]>([
    ['PNG', PNG, 'image/png'],
    ['JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'image/jpeg'],
    ['WebP', WEBP, 'image/webp'],
    ['HEIC', ftyp('heic'), 'image/heic'],
    ['MP4', MP4, 'video/mp4'],
    ['QuickTime', ftyp('qt  '), 'video/quicktime'],
    ['3GP', ftyp('3gp5'), 'video/3gpp'],
    ['M4A', ftyp('M4A '), 'audio/mp4'],
    ['MP3 with a tag', MP3, 'audio/mpeg'],
    ['MP3 without a tag', Buffer.from([0xff, 0xf3, 0x40, 0]), 'audio/mpeg'],
    ['AAC', Buffer.from([0xff, 0xf1, 0x50, 0x80]), 'audio/aac'],
    ['Opus', opusFile(), 'audio/ogg; codecs=opus'],
    [
      'Vorbis',
      Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('\x01vorbis')]),
      'audio/ogg',
    ],
    ['a web page', Buffer.from('<html>'), undefined],
    ['nothing', new Uint8Array(), undefined],
  ])('recognizes %s', (_name, bytes, type) => {
    expect(detectMediaType(bytes)).toBe(type);
  });
});
