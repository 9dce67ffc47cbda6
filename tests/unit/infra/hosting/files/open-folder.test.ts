import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenFolder } from '../../../../../router/src/infra/hosting/files/open-folder.ts';

describe('OpenFolder', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'wa2ai-folder-'));
    for (const name of ['agent', 'secret']) mkdirSync(join(base, name));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it('opens no link and no file', async () => {
    symlinkSync(join(base, 'secret'), join(base, 'link'));
    await expect(OpenFolder.open(join(base, 'link'))).rejects.toMatchObject({
      code: expect.stringMatching(/^(ELOOP|ENOTDIR)$/),
    });
    const folder = await OpenFolder.open(join(base, 'agent'));
    await folder.replace('file', Buffer.from('a'));
    symlinkSync(join(base, 'secret'), join(base, 'agent/link'));
    for (const name of ['file', 'link']) {
      await expect(folder.enter(name)).rejects.toMatchObject({
        code: expect.stringMatching(/^(ELOOP|ENOTDIR)$/),
      });
    }
    await folder.close();
  });

  it('leaves nothing behind when a folder has the name of the file', async () => {
    const folder = await OpenFolder.open(join(base, 'agent'));
    await (await folder.enter('notes')).close();
    await expect(folder.replace('notes', Buffer.from('a'))).rejects.toMatchObject({ code: 'EISDIR' });
    await folder.close();
    expect(readdirSync(join(base, 'agent'))).toEqual(['notes']);
  });

  // Other systems have no way to name a file by the handle of its folder.
  it.runIf(process.platform === 'linux')(
    'stores a file in the folder that it opened, also when a link takes its place',
    async () => {
      const folder = await OpenFolder.open(join(base, 'agent'));
      renameSync(join(base, 'agent'), join(base, 'moved'));
      symlinkSync(join(base, 'secret'), join(base, 'agent'));
      await folder.replace('key', Buffer.from('a'));
      const inner = await folder.enter('inner');
      await inner.replace('key', Buffer.from('b'));
      for (const each of [inner, folder]) await each.close();
      expect(readdirSync(join(base, 'secret'))).toEqual([]);
      expect(readFileSync(join(base, 'moved/key'), 'utf8')).toBe('a');
      expect(readFileSync(join(base, 'moved/inner/key'), 'utf8')).toBe('b');
    },
  );
});
