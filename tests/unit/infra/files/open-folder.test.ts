import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenFolder } from '../../../../router/src/infra/files/open-folder.ts';

describe('OpenFolder', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'wa2ai-folder-'));
    for (const name of ['agent', 'secret']) mkdirSync(join(base, name));
  });
  afterEach(async () => {
    const parent = await OpenFolder.open(dirname(base));
    await parent.remove(basename(base)).finally(() => parent.close());
  });

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
    await (await folder.make('notes')).close();
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
      const inner = await folder.make('inner');
      await inner.replace('key', Buffer.from('b'));
      for (const each of [inner, folder]) await each.close();
      expect(readdirSync(join(base, 'secret'))).toEqual([]);
      expect(readFileSync(join(base, 'moved/key'), 'utf8')).toBe('a');
      expect(readFileSync(join(base, 'moved/inner/key'), 'utf8')).toBe('b');
    },
  );

  it('deletes a folder with 60 nested folders, whose paths have 12,060 bytes', async () => {
    const folder = await OpenFolder.open(join(base, 'agent'));
    await nest(folder, 60);
    await folder.remove('deep');
    await folder.close();
    expect(readdirSync(join(base, 'agent'))).toEqual([]);
  });

  it('deletes folders that may not be read or written, names that are not UTF-8, and links but not their targets', async () => {
    const deep = join(base, 'agent/workspace/locked');
    mkdirSync(join(deep, 'inner/innermost'), { recursive: true });
    writeFileSync(join(deep, 'inner/file'), 'a');
    writeFileSync(Buffer.concat([Buffer.from(`${deep}/`), Buffer.from([0xff, 0xfe])]), 'a');
    symlinkSync(join(base, 'secret'), join(deep, 'inner/link'));
    writeFileSync(join(base, 'secret/key'), 'a');
    for (const path of [join(deep, 'inner'), deep]) chmodSync(path, 0);
    const folder = await OpenFolder.open(join(base, 'agent'));
    await folder.remove('workspace');
    await folder.remove('workspace');
    await folder.close();
    expect(readdirSync(join(base, 'agent'))).toEqual([]);
    expect(existsSync(join(base, 'secret/key'))).toBe(true);
  });

  it('walks by name, a folder before its contents, and reports what is too deep or not UTF-8', async () => {
    const agent = join(base, 'agent');
    mkdirSync(join(agent, 'b/inner'), { recursive: true });
    for (const name of ['c', 'b/2', 'b/1', 'b/inner/file']) writeFileSync(join(agent, name), name);
    symlinkSync('../secret', join(agent, 'a'));
    writeFileSync(Buffer.concat([Buffer.from(`${agent}/`), Buffer.from([0xff])]), 'a');
    const folder = await OpenFolder.open(agent);
    await nest(folder, 60);
    const found = [];
    for await (const { kind, path } of folder.walk()) {
      if (!path.startsWith('deep/')) found.push(`${kind} ${path}`);
      else if (kind === 'unread') expect(Buffer.byteLength(path)).toBeGreaterThan(4_096);
    }
    await folder.close();
    expect(found).toEqual([
      'link a',
      'folder b',
      'file b/1',
      'file b/2',
      'folder b/inner',
      'file b/inner/file',
      'file c',
      'folder deep',
      'unread \ufffd',
    ]);
  });
});

/** Folders inside of folders: the path of the innermost has 201 bytes for each. */
async function nest(folder: OpenFolder, levels: number): Promise<void> {
  let inner = await folder.make('deep');
  for (let level = 0; level < levels; level++) {
    const outer = inner;
    inner = await outer.make('d'.repeat(200));
    await outer.close();
  }
  await inner.replace('file', Buffer.from('a'));
  await inner.close();
}
