import { beforeEach, describe, expect, it } from 'vitest';
import type { VoiceEncoder } from '../../../../router/src/core/ports/converters.ts';
import { FilesToSend } from '../../../../router/src/infra/media/http-web-files.ts';
import { MemoryWebFiles } from '../../../doubles/memory-web-files.ts';
import { MP3, opusFile, PNG } from '../../../support/sounds.ts';

const url = 'https://example.com/a.png?key=secret';
let webFiles: MemoryWebFiles;
let files: FilesToSend;
let encoded: number;

beforeEach(() => {
  encoded = 0;
  webFiles = new MemoryWebFiles();
  webFiles.files.set(url, { bytes: PNG, mimeType: 'text/plain', fileName: 'a.png' });
  const voice: VoiceEncoder = {
    encode: async () => {
      encoded += 1;
      return opusFile();
    },
  };
  files = new FilesToSend({ webFiles, voice });
});

describe('FilesToSend', () => {
  it('loads a file of the web, only when it is needed', async () => {
    const file = files.prepare('image', { url });
    expect(webFiles.loaded).toEqual([]);
    expect(await file.load()).toEqual({ kind: 'image', mimeType: 'image/png', bytes: PNG });
    expect(await files.prepare('document', { url, fileName: 'b.png' }).load()).toMatchObject({
      fileName: 'b.png',
    });
  });

  it('converts a sound to a voice note, unless it is one', async () => {
    expect(await files.prepare('voice', { bytes: MP3 }).load()).toMatchObject({
      mimeType: 'audio/ogg; codecs=opus',
    });
    expect(encoded).toBe(1);
    await files.prepare('voice', { bytes: opusFile() }).load();
    expect(encoded).toBe(1);
  });

  it('finds repeats by kind and bytes or address, without the address itself', () => {
    const source = (...args: Parameters<FilesToSend['prepare']>) => files.prepare(...args).source;
    expect(source('image', { url })).toBe(source('image', { url }));
    expect(source('image', { url })).not.toMatch(/example|secret/);
    const all = [
      source('image', { url }),
      source('document', { url }),
      source('image', { url: `${url}2` }),
      source('image', { bytes: PNG }),
      source('image', { bytes: MP3 }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('refuses a file above the limit before it is converted', async () => {
    await expect(files.prepare('voice', { bytes: Buffer.alloc(10_000_001) }).load()).rejects.toThrow('10 MB');
    expect(encoded).toBe(0);
  });
});
