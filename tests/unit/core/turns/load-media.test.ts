import { describe, expect, it } from 'vitest';
import { MediaError } from '../../../../router/src/core/errors.ts';
import type { MediaLinks, MessageFiles } from '../../../../router/src/core/ports/media.ts';
import { StoredMedia } from '../../../../router/src/core/turns/load-media.ts';
import { settle } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const bytes = Buffer.from('a picture');

describe('StoredMedia', () => {
  const { signal } = new AbortController();
  const turn = (messageId: string) => ({ messageId, accountId: 'default' });
  const gone = new MediaError('MEDIA_GONE', { sentence: 'It is gone.' });
  const links: MediaLinks = {
    isOn: true,
    urlOf: async ({ reference, fileName }) => `https://wa2ai.test/${reference}/${fileName}`,
    open: async (token) => {
      if (token !== 'good') return token === 'old' ? 'expired' : 'unknown';
      return { accountId: 'default', reference: 'way', mimeType: 'image/png' };
    },
  };
  const nowhere = { reload: async () => undefined, links, log: quietLog };

  it('loads four files at a time', async () => {
    const ends: Array<() => void> = [];
    const media = new StoredMedia({
      ...nowhere,
      inbox: { mediaReference: async (id) => `way to ${id}` },
      download: async ({ reference }) => {
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
      ...nowhere,
      inbox: { mediaReference: async () => 'old' },
      download: async ({ accountId, reference }) => {
        expect(accountId).toBe(turn('1').accountId);
        if (reference === 'old') throw gone;
        return Buffer.from(`from ${reference}`);
      },
      reload,
    });
    const said = await media.load(turn('1'), signal).then(String, (error: Error) => error.message);
    expect(said).toBe(expected);
  });

  describe('with files that were loaded before', () => {
    const setup = (files: Partial<MessageFiles> = {}) => {
      const kept = new Map<string, Uint8Array>();
      let downloads = 0;
      const media = new StoredMedia({
        ...nowhere,
        inbox: { mediaReference: async () => 'way' },
        download: async () => {
          downloads += 1;
          return bytes;
        },
        files: {
          load: async (id) => kept.get(id),
          save: async (id, saved) => void kept.set(id, saved),
          ...files,
        },
      });
      return { media, kept, downloads: () => downloads };
    };

    it('loads each from the provider once', async () => {
      const { media, kept, downloads } = setup();
      expect(await media.load(turn('1'), signal)).toBe(bytes);
      await settle();
      expect(await media.load(turn('1'), signal)).toBe(bytes);
      expect(downloads()).toBe(1);
      expect([...kept.keys()]).toEqual(['1']);
      expect(await media.load(turn('2'), signal)).toBe(bytes);
      expect(downloads()).toBe(2);
    });

    it('gives what a link leads to the same way, and stores nothing for a link of an earlier release', async () => {
      const { media, kept, downloads } = setup();
      await media.loadLinked('good', signal);
      await settle();
      expect([kept.size, downloads()]).toEqual([0, 1]);
      const linked = {
        ...links,
        open: async () => ({ ...turn('7'), reference: 'way', mimeType: 'image/png' }),
      };
      const newer = new StoredMedia({
        ...nowhere,
        links: linked,
        inbox: { mediaReference: async () => 'way' },
        download: async () => bytes,
        files: { load: async () => undefined, save: async (id, saved) => void kept.set(id, saved) },
      });
      await newer.loadLinked('good', signal);
      await settle();
      expect([...kept.keys()]).toEqual(['7']);
    });

    it('loads a file again whose store is away or damaged, and answers when it cannot be stored', async () => {
      const { media, downloads } = setup({
        load: () => Promise.reject(new MediaError('MEDIA_BROKEN', { sentence: 'It was changed.' })),
        save: () => Promise.reject(new Error('away')),
      });
      expect(await media.load(turn('1'), signal)).toBe(bytes);
      await settle();
      expect(downloads()).toBe(1);
    });

    it('stores at most eight at a time, so that a slow store takes no more memory', async () => {
      const saving: string[] = [];
      const { media } = setup({
        save: (id) => {
          saving.push(id);
          return new Promise(() => undefined);
        },
      });
      for (let id = 0; id < 12; id++) await media.load(turn(String(id)), signal);
      expect(saving).toHaveLength(8);
    });
  });

  it('makes links to files, and loads what they lead to, also after the turn', async () => {
    let reference: string | undefined = 'way';
    const inbox = { mediaReference: async () => reference };
    const media = new StoredMedia({
      ...nowhere,
      inbox,
      download: async ({ reference: from }) => Buffer.from(`by ${from}`),
    });
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
