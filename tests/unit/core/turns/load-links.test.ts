import { beforeEach, describe, expect, it } from 'vitest';
import type { Pictures } from '../../../../router/src/core/ports/media.ts';
import { withLinkedFiles, withPictures } from '../../../../router/src/core/turns/load-media.ts';
import { markdownPictures } from '../../../../router/src/infra/formatting/markdown-lexer.ts';
import { MemoryWebFiles } from '../../../doubles/memory-web-files.ts';
import { MP3, PNG } from '../../../support/sounds.ts';

const hosts = ['a.org'];
let files: MemoryWebFiles;
let pictures: Pictures;

beforeEach(() => {
  files = new MemoryWebFiles();
  for (const n of [1, 2, 3, 4, 5, 6]) files.files.set(`https://a.org/${n}.png`, { bytes: PNG });
  files.files.set('https://a.org/sound', { bytes: MP3 });
  pictures = { find: markdownPictures, files };
});

const load = async (response: string, allowed: readonly string[] = hosts, isPlain?: true) => {
  const answer = { success: true, response, ...(isPlain && { isPlain }) };
  const { response: seen, steps } = await withPictures(pictures, answer, allowed);
  return { text: seen.response, files: seen.files?.length ?? 0, steps: steps.map(({ outcome }) => outcome) };
};

describe('withPictures', () => {
  it.each([
    ['![a](https://a.org/1.png)', ''],
    ['before\n\n![a](https://a.org/1.png)\n\nafter', 'before\n\nafter'],
    ['see ![a](https://a.org/1.png) here', 'see  here'],
    ['![a](https://a.org/1.png)\nafter', 'after'],
  ])('makes the picture of an allowed host a file and takes it out of the text: %j', async (text, rest) => {
    expect(await load(text)).toEqual({ text: rest, files: 1, steps: ['loaded'] });
  });

  it.each([
    ['a host that is not allowed', '![a](https://b.org/1.png)', hosts],
    ['a name that only ends like it', '![a](https://evil-a.org/1.png)', hosts],
    ['user information that looks like it', '![a](https://a.org@b.org/1.png)', hosts],
    ['another port', '![a](https://a.org:8443/1.png)', hosts],
    ['another scheme', '![a](ftp://a.org/1.png)', hosts],
    ['a path', '![a](/1.png)', hosts],
    ['no allowed hosts', '![a](https://a.org/1.png)', []],
  ])('loads nothing for %s', async (_name, text, allowed) => {
    expect(await load(text, allowed)).toEqual({ text, files: 0, steps: [] });
    expect(files.loaded).toEqual([]);
  });

  it('leaves the text of an agent that writes no Markdown', async () => {
    const text = '![a](https://a.org/1.png)';
    expect(await load(text, hosts, true)).toMatchObject({ text, files: 0 });
  });

  it('loads five pictures at most', async () => {
    const text = [1, 2, 3, 4, 5, 6].map((n) => `![${n}](https://a.org/${n}.png)`).join('\n\n');
    expect(await load(text)).toEqual({ text: '![6](https://a.org/6.png)', files: 5, steps: ['loaded'] });
  });

  it('leaves one that cannot be loaded, or is no picture, in the text', async () => {
    const text = '![a](https://a.org/none)\n\n![b](https://a.org/sound)\n\n![c](https://a.org/1.png)';
    expect(await load(text)).toEqual({
      text: '![a](https://a.org/none)\n\n![b](https://a.org/sound)',
      files: 1,
      steps: ['failed', 'failed', 'loaded'],
    });
  });

  it('ends with its signal', async () => {
    const reason = new Error('stopping');
    const answer = { success: true, response: '![a](https://a.org/1.png)' };
    await expect(withPictures(pictures, answer, hosts, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('withLinkedFiles', () => {
  const url = 'https://a.org/x.pdf';
  const pdf = Buffer.from('%PDF-1.7');
  const linked = async (
    links: Array<{ url: string; mimeType?: string; fileName?: string }>,
    allowed: readonly string[] = hosts,
    response?: string,
  ) => {
    files.files.set(url, { bytes: pdf, mimeType: 'application/pdf', fileName: 'x.pdf' });
    const answer = { success: true, ...(response !== undefined && { response }), fileLinks: links };
    const found = await withLinkedFiles(files, answer, allowed);
    expect(found.response).not.toHaveProperty('fileLinks');
    const shown = found.response.files?.map(({ kind, mimeType, fileName }) => [kind, mimeType, fileName]);
    return { text: found.response.response, files: shown, steps: found.steps.map(({ outcome }) => outcome) };
  };

  it('makes the file of an allowed host a file, as the kind that its bytes show', async () => {
    expect(await linked([{ url, mimeType: 'image/png', fileName: 'bill.pdf' }], hosts, 'Here')).toEqual({
      text: 'Here',
      files: [['document', 'application/pdf', 'bill.pdf']],
      steps: ['loaded'],
    });
    const more = [{ url: 'https://a.org/1.png' }, { url: 'https://a.org/sound' }];
    expect(await linked(more)).toMatchObject({
      text: undefined,
      files: [
        ['image', 'image/png', undefined],
        ['audio', 'audio/mpeg', undefined],
      ],
    });
  });

  it.each([
    ['a host that is not allowed', { url: 'https://b.org/x.pdf' }, hosts, 'https://b.org/x.pdf', []],
    ['no allowed hosts', { url }, [], url, []],
    ['one that cannot be loaded', { url: 'https://a.org/none' }, hosts, 'https://a.org/none', ['failed']],
    ['one with a name', { url, fileName: 'bill.pdf' }, [], `bill.pdf: ${url}`, []],
  ])('leaves the address in the text for %s', async (_name, link, allowed, line, steps) => {
    expect(await linked([link], allowed, 'Here:')).toEqual({
      text: `Here:\n${line}`,
      files: undefined,
      steps,
    });
    expect(await linked([link], allowed)).toMatchObject({ text: line });
  });

  it('refuses a web page in place of a file', async () => {
    files.files.set('https://a.org/login', { bytes: Buffer.from('<html>'), mimeType: 'text/html' });
    const link = { url: 'https://a.org/login', mimeType: 'application/pdf' };
    expect(await linked([link])).toMatchObject({ text: link.url, steps: ['failed'] });
  });

  it('sends what WhatsApp does not show as such a kind as a document', async () => {
    files.files.set('https://a.org/a.gif', { bytes: Buffer.from('GIF89a'), fileName: 'a.gif' });
    expect(await linked([{ url: 'https://a.org/a.gif' }])).toMatchObject({
      files: [['document', 'image/gif', 'a.gif']],
    });
  });

  it('loads five files at most', async () => {
    const links = Array.from({ length: 6 }, () => ({ url }));
    expect(await linked(links)).toMatchObject({ text: url, files: { length: 5 } });
  });

  it('changes nothing without links', async () => {
    const answer = { success: true, response: 'x' };
    expect(await withLinkedFiles(files, answer, hosts)).toEqual({ response: answer, steps: [] });
  });
});
