import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  changeReference,
  readReference,
  writeReference,
} from '../../../../../router/src/providers/baileys/media/media.ts';

const path = '/v/t62.7118-24/file.enc?ccb=11-4&oh=01_Q5';

/** The fields of a message about a file that a reference needs, without its place. */
function media() {
  return { mediaKey: randomBytes(32), fileSha256: randomBytes(32), fileEncSha256: randomBytes(32) };
}

describe('the reference of a file', () => {
  const file = media();
  const read = (fields: Record<string, unknown>) => readReference(writeReference('image', fields));

  it('is read back as it was written', () => {
    expect(read({ ...file, directPath: path })).toMatchObject({
      type: 'image',
      path,
      mediaKey: file.mediaKey,
      fileSha256: file.fileSha256,
      fileEncSha256: file.fileEncSha256,
    });
  });

  it('keeps only the path of a WhatsApp URL', () => {
    expect(read({ ...file, url: 'https://mmg.whatsapp.net/v/a.enc?x=1' })?.path).toBe('/v/a.enc?x=1');
  });

  it.each([
    'https://internal.example:8443/v/a.enc?x=1',
    'http://127.0.0.1/admin',
    'https://evilwhatsapp.net/v/a.enc',
    'http://mmg.whatsapp.net/v/a.enc',
    'file:///etc/passwd',
  ])('is absent for another host: %s', (url) => {
    expect(writeReference('image', { ...file, url })).toBe('');
  });

  it.each([
    { directPath: '@evil.example/x' },
    { directPath: 'https://evil.example/x' },
    { directPath: '/with space' },
    { directPath: `/${'x'.repeat(5_000)}` },
    { directPath: 7 },
    { url: 'nonsense' },
    {},
  ])('is absent for an invalid path: %j', (where) => {
    expect(writeReference('image', { ...file, ...where })).toBe('');
  });

  it('prefers the path of the message to its URL', () => {
    expect(read({ ...file, directPath: path, url: 'https://mmg.whatsapp.net/other' })?.path).toBe(path);
    expect(read({ ...file, directPath: 'no path', url: 'https://mmg.whatsapp.net/other' })?.path).toBe(
      '/other',
    );
  });

  it.each(['mediaKey', 'fileSha256', 'fileEncSha256'])('is absent without a whole %s', (name) => {
    for (const value of [undefined, randomBytes(31), randomBytes(33), 'x'.repeat(32)]) {
      expect(writeReference('image', { ...file, directPath: path, [name]: value })).toBe('');
    }
  });

  it('has the longest path that it can be read with', () => {
    const longest = `/${'x'.repeat(4_000)}`;
    expect(read({ ...file, directPath: longest })?.path).toBe(longest);
    expect(writeReference('image', { ...file, directPath: `${longest}x` })).toBe('');
  });

  it('has the size when it is known', () => {
    const text = writeReference('video', { ...file, directPath: path }, 0);
    expect(readReference(text)).toMatchObject({ type: 'video', sizeBytes: 0 });
    expect(read({ ...file, directPath: path })).not.toHaveProperty('sizeBytes');
  });
});

describe('a changed reference', () => {
  const text = writeReference('image', { ...media(), directPath: path }, 5);
  const message = { id: '3EB0A', remoteJid: '34600000002@s.whatsapp.net' };

  it('differs in what was changed only', () => {
    const changed = changeReference(changeReference(text, { message }), { path: '/new' });
    expect(readReference(changed)).toEqual({ ...readReference(text), message, path: '/new' });
  });

  it('is absent when there was none', () => {
    expect(changeReference('', { path: '/new' })).toBe('');
  });
});

describe('a stored text', () => {
  const whole = JSON.parse(writeReference('image', { ...media(), directPath: path }));

  it.each<[string, unknown]>([
    ['is empty', undefined],
    ['is a number', 7],
    ['has another type', { ...whole, type: 'program' }],
    ['has no path', { ...whole, path: undefined }],
    ['names a host', { ...whole, path: 'https://evil.example/x' }],
    ['has a short key', { ...whole, mediaKey: randomBytes(16).toString('base64') }],
    ['has a key that is not base64', { ...whole, mediaKey: '!'.repeat(44) }],
    ['has a message without an id', { ...whole, message: { remoteJid: 'x' } }],
  ])('that %s is not a reference', (_, value) => {
    expect(readReference(JSON.stringify(value) ?? '')).toBeUndefined();
    expect(readReference(JSON.stringify(whole))).toBeDefined();
  });
});
