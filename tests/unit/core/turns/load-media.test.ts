import { describe, expect, it } from 'vitest';
import { MediaError } from '../../../../router/src/core/errors.ts';
import type { MediaLinks } from '../../../../router/src/core/ports/media-links.ts';
import { StoredMedia } from '../../../../router/src/core/turns/load-media.ts';
import { settle } from '../../../support/fake-clock.ts';

const bytes = Buffer.from('a picture');

describe('StoredMedia', () => {
  const { signal } = new AbortController();
  const turn = (messageId: string) => ({ messageId, accountId: 'default' });
  const gone = new MediaError('MEDIA_GONE', 'It is gone.');
  const links: MediaLinks = {
    isOn: true,
    urlOf: async ({ reference, fileName }) => `https://wa2ai.test/${reference}/${fileName}`,
    open: async (token) => {
      if (token !== 'good') return token === 'old' ? 'expired' : 'unknown';
      return { accountId: 'default', reference: 'way', mimeType: 'image/png' };
    },
  };
  const nowhere = { reload: async () => undefined, links };

  it('loads four files at a time', async () => {
    const ends: Array<() => void> = [];
    const media = new StoredMedia({
      ...nowhere,
      inbox: { mediaReference: async (id) => `way to ${id}` },
      download: async (reference) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return Buffer.from(reference);
      },
    });
    const ids = ['1', '2', '3', '4', '5', '6'];
    const loads = ids.map((id) => media.load(turn(id), signal));
    await settle();
    expect(ends).toHaveLength(4);
    for (const end of ends) end();
    await settle();
    for (const end of ends) end();
    expect((await Promise.all(loads)).map(String)).toEqual(ids.map((id) => `way to ${id}`));
  });

  it('reports a file without a reference as gone', async () => {
    const inbox = { mediaReference: async () => undefined };
    const media = new StoredMedia({ ...nowhere, inbox, download: async () => bytes });
    await expect(media.load(turn('1'), signal)).rejects.toMatchObject({ code: 'MEDIA_GONE' });
  });

  it.each<[string, () => Promise<string | undefined>, string]>([
    ['loads it by the reference that the phone gave', async () => 'new', 'from new'],
    ['reports it as gone when no phone can be asked', async () => undefined, 'It is gone.'],
    [
      'reports it as gone when the phone does not have it',
      async () => Promise.reject(new Error('no')),
      'It is gone.',
    ],
  ])('of a file that WhatsApp deleted: %s', async (_, reload, expected) => {
    const media = new StoredMedia({
      links,
      inbox: { mediaReference: async () => 'old' },
      download: async (reference) => {
        if (reference === 'old') throw gone;
        return Buffer.from(`from ${reference}`);
      },
      reload,
    });
    const said = await media.load(turn('1'), signal).then(String, (error: Error) => error.message);
    expect(said).toBe(expected);
  });

  it('makes links to files, and loads what they lead to, also after the turn', async () => {
    let reference: string | undefined = 'way';
    const inbox = { mediaReference: async () => reference };
    const media = new StoredMedia({ ...nowhere, inbox, download: async (from) => Buffer.from(`by ${from}`) });
    const message = { media: { kind: 'document', mimeType: 'application/pdf', fileName: 'a.pdf' } };
    const linked = { ...turn('1'), message } as unknown as Parameters<typeof media.urlOf>[0];
    expect(await media.urlOf(linked)).toBe('https://wa2ai.test/way/a.pdf');
    reference = undefined;
    expect(await media.urlOf(linked)).toBeUndefined();
    const none = { ...nowhere, links: { ...links, isOn: false }, download: async () => bytes };
    const unread = { mediaReference: () => Promise.reject(new Error('nothing is to be read')) };
    expect(await new StoredMedia({ ...none, inbox: unread }).urlOf(linked)).toBeUndefined();
    expect(await media.loadLinked('good', signal)).toMatchObject({ bytes: Buffer.from('by way') });
    expect(await media.loadLinked('old', signal)).toBe('expired');
    expect(await media.loadLinked('other', signal)).toBe('unknown');
  });
});
