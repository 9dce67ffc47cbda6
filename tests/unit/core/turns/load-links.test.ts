import { beforeEach, describe, expect, it } from 'vitest';
import type { Pictures } from '../../../../router/src/core/ports/pictures.ts';
import { withPictures } from '../../../../router/src/core/turns/load-links.ts';
import { markdownPictures } from '../../../../router/src/infra/formatting/markdown-pictures.ts';
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
